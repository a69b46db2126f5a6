# Memory that goes offline and comes back: what runs stays, and the next berthd books only what is there.
. /opt/berth/suites/node.sh
kernels() { sed -n "s/^Node $1 MemTotal: *\([0-9]*\) kB/\1/p" "/sys/devices/system/node/node$1/meminfo"; }
# berths NODE: KiB of a node, as berth reads them now.
berths() {
  berth machine -o json | awk -v node="$1" '/^      "id":/ { gsub(/,/, ""); here = $2 == node }
    here && /^      "memory":/ { gsub(/,/, ""); print $2 / 1024; exit }'
}
same_memory() { equal "$1" "$(kernels 0) $(kernels 1)" "$(berths 0) $(berths 1)"; }
switch() { for block in $modules; do echo "$1" >"/sys/devices/system/memory/memory$block/state"; done; }
said() { berth events | grep -Eq "$1"; }
pod() { # NAME MEBIBYTES
  cat >"/tmp/$1.yaml" <<END
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: $1, command: [/bin/sleep, "600"], resources: {limits: {cpu: 1, memory: $2Mi}}}
END
  berth apply -f "/tmp/$1.yaml"
}
rejected() { berth describe "$1-vm" 2>/dev/null | grep -Eq "TopologyAffinityError|UnexpectedAdmissionError"; }
all_run() { # those of `before`
  for pid in $(echo "$before" | tr -dc '0-9\n'); do [ -e "/proc/$pid" ] || return 1; done
}
start() { node_start /opt/berth/settings/numa.yaml /berth-vm; }
restart() {
  kill -KILL $node_pid
  wait $node_pid
  start
}

modules=$(ls -d /sys/devices/system/memory/memory*/node1 | sed 's#.*/memory\([0-9]*\)/.*#\1#' | awk '$1 >= 32')
equal two-modules 2 "$(echo "$modules" | wc -l)"
whole=$(kernels 1)
same_memory sees-all
check starts start
# Both are on node 1: node 0 has no 160 MiB to give, and node 1 only as long as its modules are there.
pod early 160
check early-runs wait_for 60 runs early
pod late 200
check late-runs wait_for 60 runs late
for name in early late; do equal "$name-on-node-1" 1 "$(cat "$(group_of $name)/cpuset.mems")"; done
group=$(group_of early)
cpus=$(cat "$group/cpuset.cpus.effective")
before=$(pids)
berth map

# The next berthd is the first to see it: this one would adapt the ledger itself, and might be killed before it has told that.
kill -STOP $node_pid
switch offline
check kernel-has-less [ "$(kernels 1)" -lt $((whole - 200000)) ]
same_memory sees-less
check runs-on all_run
check restarts-with-less restart
equal same-processes "$before" "$(pids)"
equal same-cpus "$cpus" "$(cat "$group/cpuset.cpus.effective")"
for name in early late; do equal "$name-stays-on-node-1" 1 "$(cat "$(group_of $name)/cpuset.mems")"; done
check others-kept-off kept_off "$group" "$cpus"
berth events
check late-lost-its-memory said 'LedgerAdapted.*late-vm.*not booked any more'
check early-kept-its-memory sh -c '! berth events | grep -E "LedgerAdapted.*early-vm"'
check keeps-its-promises berth state verify
# With the modules there would be room once `late` is gone.
berth delete late-vm
check late-goes wait_for 30 gone late
pod third 160
check third-is-rejected wait_for 30 rejected third
berth describe third-vm | grep -E 'Detail|Message'
check short-on-node-1 sh -c 'berth describe third-vm | grep -Eq "^Detail: .*memory: 160Mi asked.*on node 1 .*short"'

switch online_movable
equal kernel-has-all-again "$whole" "$(kernels 1)"
same_memory sees-all-again
check restarts-with-all restart
check third-runs-then wait_for 60 runs third
equal third-on-node-1 1 "$(cat "$(group_of third)/cpuset.mems")"
equal early-is-the-same "$(echo "$before" | head -n 1 | tr -d ,)" "$(pids | head -n 1 | tr -d ,)"
check keeps-its-promises-again berth state verify
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(groups)"
rm -rf /tmp/node
