# What tests/vm/run and tests/vm/shell share: the guests' images and how a guest is started. Sourced, from the checkout.
vm_build=${BERTH_VM_BUILD:-build/fast}         # whose tests run in the guests
vm_programs_of=${BERTH_VM_PROGRAMS:-$vm_build}  # whose berthd, berth and berth-shim
vm_dir=build/vm
vm_root=$vm_dir/root  # of the image that is being made

vm_machines() { basename -a tests/vm/machines/*; }

# vm_load MACHINE: sets guest (plain, systemd or containers), cpu, smp, memory, qemu, suites, boot (more words for the
# kernel), kernel (stable or new) and seconds (what its suites take on a host with two CPUs, about).
vm_load() {
  [[ -f tests/vm/machines/$1 ]] || { echo "no machine '$1'; there are: $(vm_machines | xargs)" >&2; return 1; }
  guest=plain
  # As an AMD processor, which max is by default, the emulated one does not tell which threads share a core.
  cpu=max,vendor=GenuineIntel
  boot=
  kernel=stable
  seconds=40
  # shellcheck source=/dev/null
  source "tests/vm/machines/$1"
}

# vm_libraries PROGRAM: the libraries it needs, and those that it loads by itself (host/os/shared_library.h) with theirs.
vm_libraries() {
  local name path
  ldd "$1" 2>/dev/null | grep -o '/[^ ]*'
  for name in libcurl-gnutls.so.4 libarchive.so.13; do
    grep -qaF "$name" "$1" || continue
    path=$(ldconfig -p | grep -o "/.*/$name\$" | head -n 1)
    [[ -z $path ]] || { echo "$path"; ldd "$path" | grep -o '/[^ ]*'; }
  done
}

# vm_add PROGRAM TARGET: a program without debug symbols, and the libraries it needs.
vm_add() {
  local library
  mkdir -p "$vm_root/$(dirname "$2")"
  strip --strip-debug -o "$vm_root/$2" "$1" 2>/dev/null || cp "$1" "$vm_root/$2"
  chmod 755 "$vm_root/$2"
  while read -r library; do
    [[ -e $vm_root/$library ]] && continue
    mkdir -p "$vm_root/$(dirname "$library")"
    cp -L "$library" "$vm_root/$library"
  done < <(vm_libraries "$1")
}

vm_programs=(bin/berthd bin/berth bin/berth-shim tests/integration/berth_cgroup_integration_test
  tests/integration/berth_cgroup_example_test tests/integration/berth_cgroup_v2_test
  tests/integration/berth_runtime_integration_test
  tests/integration/berth_daemon_integration_test)

# vm_built PROGRAM: its file.
vm_built() { [[ $1 == bin/* ]] && echo "$vm_programs_of/$1" || echo "$vm_build/$1"; }

# What runs in the guest with containers.
vm_container_programs=(bin/berthd bin/berth bin/berth-shim tests/integration/overlap_probe
  tests/integration/berth_newer_containerd_test tests/integration/berth_daemon_cri_test
  tests/integration/berth_daemon_nri_test)

vm_image() { echo "$vm_dir/initramfs-$guest"; }

# Makes the image of a guest of the kind that was loaded: what all have, on its own system.
vm_make_image() {
  local name file folder programs=("${vm_programs[@]}")
  [[ $guest != containers ]] || programs=("${vm_container_programs[@]}")
  [[ $guest != systemd ]] || programs+=("${vm_container_programs[@]}" tests/attack/berth_attack_test)
  for name in "${programs[@]}"; do
    file=$(vm_built "$name")
    [[ -x $file ]] && continue
    folder=${file%"/$name"}
    echo "$file is missing; build it first: cmake --preset ${folder##*/} && cmake --build $folder" >&2
    return 1
  done
  rm -rf "$vm_root"
  mkdir -p "$vm_root"/usr/{bin,sbin,lib,lib64} "$vm_root/opt/berth/busybox"
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$vm_root/$name"; done
  "vm_make_$guest" || return 1
  for name in "${programs[@]}"; do vm_add "$(vm_built "$name")" "opt/berth/${name%%/*}/${name##*/}"; done
  realpath "$vm_build" >"$vm_root/opt/berth/built_at"
  pwd >"$vm_root/opt/berth/source_at"
  cp -r tests/vm/guest/suites tests/vm/guest/settings tests/vm/guest/main.sh tests/demo/verify examples packaging "$vm_root/opt/berth/"
  (cd "$vm_root" && find . -print0 | sort -z | cpio --quiet -0 -o -H newc) >"$(vm_image).part"
  # The kernel unpacks several archives one after the other.
  if [[ $guest == systemd ]]; then cat "$vm_dir/systemd.cpio" "$(vm_image).part" >"$(vm_image)"; else cp "$(vm_image).part" "$(vm_image)"; fi
  rm -f "$(vm_image).part"
}

# busybox, and the tools the tests start.
vm_make_plain() {
  local name
  mkdir -p "$vm_root"/{dev,proc,sys,tmp,run,var,root,etc}
  for name in $(busybox --list | grep -vx busybox); do ln -s busybox "$vm_root/usr/bin/$name"; done
  cp "$(command -v busybox)" "$vm_root/usr/bin/busybox"
  # Tests look at names and output of these, so they are the real ones.
  for name in sh cat env echo grep head ls sed seq sleep sort tail true; do
    rm -f "$vm_root/usr/bin/$name"
    vm_add "$(readlink -f "$(type -P "$name")")" "usr/bin/$name"
  done
  # For the suite `disk`; busybox has neither.
  for name in dmsetup e2fsck; do vm_add "/sbin/$name" "usr/bin/$name"; done
  for name in loop dm-mod; do cp "$vm_dir/kernel/stable.$name.ko" "$vm_root/$name.ko"; done
  install -m 755 tests/vm/guest/init "$vm_root/init"
  echo 'root:x:0:0:root:/root:/bin/sh' >"$vm_root/etc/passwd"
  echo 'root:x:0:' >"$vm_root/etc/group"
}

# The same with containerd.
vm_make_containers() {
  vm_make_plain
  vm_add "$(command -v bash)" usr/bin/bash
  vm_add_containerd
}

# containerd and runc, and the images for them.
vm_add_containerd() {
  local name
  for name in build/containerd/forky/bin/{containerd,containerd-shim-runc-v2,ctr} "$(command -v runc)"; do
    vm_add "$name" "usr/bin/$(basename "$name")"
  done
  mkdir -p "$vm_root/etc"
  echo '127.0.0.1 localhost' >"$vm_root/etc/hosts"  # containerd copies both to pods
  : >"$vm_root/etc/resolv.conf"
  cp "$vm_dir/kernel/$kernel.overlay.ko" "$vm_root/overlay.ko"
  cp -r tools "$vm_root/opt/berth/"
  tools/make_image "$vm_root/opt/berth/images.tar"
}

# Debian is there already (tests/vm/systemd_root): only containerd, a unit that runs the suites, and what busybox alone
# has.
vm_make_systemd() {
  local units=$vm_root/etc/systemd/system
  mkdir -p "$units/multi-user.target.wants"
  cp tests/vm/guest/berth-suites.service "$units/"
  ln -s ../berth-suites.service "$units/multi-user.target.wants/"
  cp "$(command -v busybox)" "$vm_root/opt/berth/busybox/"
  ln -s busybox "$vm_root/opt/berth/busybox/usleep"
  ln -s busybox "$vm_root/opt/berth/busybox/insmod"
  install -m 755 tests/vm/guest/init "$vm_root/init"
  vm_add_containerd
  vm_add_packages
}

# Debian packages of the programs that are built; the lane `packages` may have made them already.
vm_add_packages() {
  local packages=build/packages
  [[ -n $(find $packages -name 'berthd_*.deb' -newer "$vm_programs_of/bin/berthd" -newer "$vm_programs_of/bin/berth" 2>/dev/null) ]] ||
    { rm -rf $packages && tools/package $packages --build "$vm_programs_of" >/dev/null; } || return 1
  mkdir -p "$vm_root/opt/berth/packages/after"
  cp $packages/{berth,berthd}_*.deb "$vm_root/opt/berth/packages/after/"
  tests/packages/older $packages "$vm_root/opt/berth/packages/before"
  # The profile as the kernel reads it, enforced: the guest has no compiler for it.
  sed 's/complain, //' packaging/apparmor/usr.bin.berthd |
    apparmor_parser --skip-kernel-load --skip-cache --stdout --kernel-features /etc/apparmor.d/abi/kernel-5.4-vanilla \
      >"$vm_root/opt/berth/packages/apparmor"
}

# vm_command WORDS-FOR-THE-KERNEL: fills the array `command` for the machine that was loaded; serial ports are the caller's.
vm_command() {
  # Instructions that repeat are emulated step by step, and filling and copying pages are most of them: other code for these.
  command=(qemu-system-x86_64 -accel tcg,thread=multi -cpu "$cpu,-erms,-fsrm" -smp "$smp" -m "$memory" "${qemu[@]}"
    -nodefaults -no-user-config -no-reboot -display none -kernel "$vm_dir/kernel/$kernel" -initrd "$(vm_image)"
    # Without lpj= the kernel measures the delay loop of each CPU, which takes minutes under emulation.
    -append "console=ttyS0 lpj=4000000 tsc=reliable clocksource=acpi_pm no_timer_check nowatchdog mitigations=off nokaslr clearcpuid=rep_good init_on_alloc=0 quiet panic=-1 $boot $1")
}
