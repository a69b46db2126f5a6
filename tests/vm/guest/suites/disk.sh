# A disk below the state directory that fails (EIO) while berthd runs, and works again: first only what is written fails, then
# nothing can be read either.
. /opt/berth/suites/node.sh
kubelet=/opt/berth/examples/kubelet.yaml
state=/tmp/node/state
sectors=65536 # 32 MiB

# disk_does TARGET...: without freezing the file system, which would have to write.
disk_does() { dmsetup --noudevsync reload disk --table "0 $sectors $*" && dmsetup --noudevsync resume --nolockfs disk; }
works() { disk_does linear /dev/loop0 0; }
# What was not saved before is not what this is about.
fails() {
  sync
  disk_does error
}
# No journal, and errors=continue: each write fails with EIO as long as the disk does, and berthd can go on when it works again.
# With a journal the first error would make the file system read-only until it is mounted anew, which cannot be while berthd
# runs; that is tested on the host (ReadOnlyDiskTest).
mount_state() { mount -t ext2 -o errors=continue /dev/dm-0 $state; }
# What an administrator does. Without it the kernel makes no file any more where it could not read which blocks are free.
mend() {
  umount $state || return
  works
  e2fsck -fy /dev/dm-0
  [ $? -le 1 ] && mount_state # 1: there were errors, and they are corrected
}
unreadable() {
  echo 3 >/proc/sys/vm/drop_caches
  ! cat $state/ledger >/dev/null 2>&1
}

# pod NAME [LIMITS]: privileged, because a mount namespace of its own would keep the disk mounted.
pod() {
  berth apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: $1
    command: [/bin/sleep, "100000"]
    securityContext: {privileged: true}
    resources: {limits: {$2}}
END
}
own="cpu: 1, memory: 16Mi"
refused() {
  berth describe "$1-vm" >/tmp/described
  grep -q '^Reason: *LedgerNotSaved' /tmp/described &&
    grep -q "^Message: .*$state/ledger[a-z.]*: Input/output error" /tmp/described
}
decided() { berth describe "$1-vm" | grep -q '^Reason'; }
process() { head -n 1 "$(group_of "$1")/cgroup.procs"; }
has_ended() { [ ! -e "/proc/$1" ]; }
effective() { cat "$1/$node_effective"; }

mkdir -p $state
insmod /loop.ko
insmod /dm-mod.ko
truncate -s $((sectors * 512)) /tmp/disk
losetup /dev/loop0 /tmp/disk
dmsetup --noudevsync create disk --table "0 $sectors linear /dev/loop0 0"
# One group of blocks: with the next file its bitmaps are written again, as they should have been while the disk failed.
mke2fs -F -b 4096 /dev/dm-0 >/dev/null
check mounts mount_state
check starts node_start $kubelet /berth-vm
pod first "$own"
check first-runs wait_for 60 runs first
cpus=$(effective "$(group_of first)")
before=$(pids)

check fails fails
pod shared
check shared-is-refused wait_for 60 refused shared
cat /tmp/described
equal first-goes-on "$before" "$(pids)"
equal first-keeps-its-cpu "$cpus" "$(effective "$(group_of first)")"
check first-is-alone kept_off "$(group_of first)" "$cpus"
# That it gives back its CPU cannot be saved.
main=$(process first)
berth delete first-vm
check first-ends wait_for 30 has_ended "$main"
pod second "$own"
check second-waits wait_for 30 decided second
check nobody-gets-the-cpu kept_off /nowhere "$cpus"

check works-again works
check shared-runs wait_for 60 runs shared
check second-runs wait_for 60 runs second
check first-is-gone wait_for 30 gone first
check same-berthd kill -0 "$node_pid"
equal second-has-the-cpu "$cpus" "$(effective "$(group_of second)")"
check second-is-alone kept_off "$(group_of second)" "$cpus"
check promises-kept berth state verify
check said-to-be-over grep -q "the ledger can be saved again" /tmp/node/berthd.log

before=$(pids)
main=$(process second)
check fails-again fails
pod third
check third-is-refused wait_for 60 refused third
exec 8<$state/lock # stays known, so that berthd comes as far as the ledger
check cannot-be-read wait_for 30 unreadable
check answers-all-the-same wait_for 30 answers
equal go-on-unread "$before" "$(pids)"
check second-is-alone-unread kept_off "$(group_of second)" "$cpus"

kill -KILL "$node_pid"
wait "$node_pid"
# Without the descriptor: busybox's timeout stays for its 20 s.
timeout 20 berthd --kubelet-config $kubelet --cgroup-root /berth-vm $node_options >/tmp/refused.log 2>&1 8<&-
equal start-is-refused 1 $?
cat /tmp/refused.log
check refused-for-the-ledger grep -q "read $state/ledger: Input/output error" /tmp/refused.log
equal second-goes-on-without-berthd "$cpus" "$(allowed "$main")"
exec 8<&-
check mended mend
check starts-again node_start $kubelet /berth-vm
equal same-processes "$before" "$(pids | grep -F "$before")"
equal second-keeps-its-cpu "$cpus" "$(effective "$(group_of second)")"
check third-runs wait_for 60 runs third
check second-is-alone-still kept_off "$(group_of second)" "$cpus"
check promises-kept-still berth state verify
check ledger-is-the-same-one sh -c '! grep -E "LedgerRebuilt|ledger.*(damaged|last good copy|no copy)" /tmp/node/berthd.log'

node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(groups)"
check leaves-the-disk umount $state
dmsetup --noudevsync remove disk
losetup -d /dev/loop0
rm -rf /tmp/node /tmp/disk
