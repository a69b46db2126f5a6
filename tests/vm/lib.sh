# What tests/vm/run and tests/vm/shell share: the guests' image and how a guest is started. Sourced, from the checkout.
vm_build=${BERTH_VM_BUILD:-build/release}  # whose programs run in the guests
vm_dir=build/vm
vm_image=$vm_dir/initramfs

vm_machines() { basename -a tests/vm/machines/*; }

# vm_load MACHINE: sets smp, memory, qemu, suites, boot (more words for the kernel) and kernel (stable or new).
vm_load() {
  [[ -f tests/vm/machines/$1 ]] || { echo "no machine '$1'; there are: $(vm_machines | xargs)" >&2; return 1; }
  boot=
  kernel=stable
  # shellcheck source=/dev/null
  source "tests/vm/machines/$1"
}

# vm_add PROGRAM TARGET: a program without debug symbols, and the libraries it needs.
vm_add() {
  local library
  mkdir -p "$vm_dir/root/$(dirname "$2")"
  strip --strip-debug -o "$vm_dir/root/$2" "$1" 2>/dev/null || cp "$1" "$vm_dir/root/$2"
  chmod 755 "$vm_dir/root/$2"
  while read -r library; do
    [[ -e $vm_dir/root/$library ]] && continue
    mkdir -p "$vm_dir/root/$(dirname "$library")"
    cp -L "$library" "$vm_dir/root/$library"
  done < <(ldd "$1" 2>/dev/null | grep -o '/[^ ]*')
}

vm_programs=(bin/berthd bin/berth bin/berth-shim tests/integration/berth_cgroup_integration_test
  tests/integration/berth_cgroup_example_test tests/integration/berth_cgroup_v2_test
  tests/integration/berth_runtime_integration_test
  tests/integration/berth_daemon_integration_test)

# Makes the initramfs: busybox, the tools the tests start, Berth's programs and tests, the suites.
vm_make_image() {
  local root=$vm_dir/root name
  for name in "${vm_programs[@]}"; do
    [[ -x $vm_build/$name ]] && continue
    echo "$vm_build/$name is missing; build it first: cmake --preset release && cmake --build build/release" >&2
    return 1
  done
  rm -rf "$root"
  mkdir -p "$root"/{usr/bin,usr/sbin,usr/lib,usr/lib64,dev,proc,sys,tmp,run,var,root,etc,opt/berth}
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
  for name in $(busybox --list | grep -vx busybox); do ln -s busybox "$root/usr/bin/$name"; done
  cp "$(command -v busybox)" "$root/usr/bin/busybox"
  # Tests look at names and output of these, so they are the real ones.
  for name in sh cat env echo grep head ls sed seq sleep sort tail true; do
    rm -f "$root/usr/bin/$name"
    vm_add "$(readlink -f "$(type -P "$name")")" "usr/bin/$name"
  done
  for name in "${vm_programs[@]}"; do vm_add "$vm_build/$name" "opt/berth/${name/integration\//}"; done
  realpath "$vm_build" >"$root/opt/berth/built_at"
  cp -r tests/vm/guest/suites tests/vm/guest/settings examples "$root/opt/berth/"
  install -m 755 tests/vm/guest/init "$root/init"
  echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
  echo 'root:x:0:' >"$root/etc/group"
  (cd "$root" && find . -print0 | sort -z | cpio --quiet -0 -o -H newc) >"$vm_image"
}

# vm_command WORDS-FOR-THE-KERNEL: fills the array `command` for the machine that was loaded; serial ports are the caller's.
vm_command() {
  # As an AMD processor, which max is by default, the emulated one does not tell which threads share a core.
  command=(qemu-system-x86_64 -accel tcg,thread=multi -cpu max,vendor=GenuineIntel -smp "$smp" -m "$memory" "${qemu[@]}"
    -nodefaults -no-user-config -no-reboot -display none -kernel "$vm_dir/kernel/$kernel" -initrd "$vm_image"
    # Without lpj= the kernel measures the delay loop of each CPU, which takes minutes under emulation.
    -append "console=ttyS0 lpj=4000000 tsc=reliable clocksource=acpi_pm no_timer_check nowatchdog mitigations=off nokaslr quiet panic=-1 $boot $1")
}
