# Pods under single-numa-node on several real nodes: CPUs and memory come from one node, as the kernel reports it.
. /opt/berth/suites/node.sh

check starts node_start /opt/berth/settings/numa.yaml /berth-vm
berth apply -f /opt/berth/settings/pinned.yaml
check runs wait_for 30 runs pinned
check ready wait_for 30 sh -c 'berth logs pinned-vm | grep -q ready'
berth map
group=$(group_of app)
cpus=$(cat "$group/cpuset.cpus.effective")
mems=$(cat "$group/cpuset.mems.effective")
equal two-cpus 2 "$(expand "$cpus" | wc -l)"
equal one-node 1 "$(expand "$mems" | wc -l)"
equal cpus-of-the-node "$(cat "/sys/devices/system/node/node$mems/cpulist")" "$cpus"
main=$(head -1 "$group/cgroup.procs")
equal heap-of-the-node "N$mems" "$(grep -w heap "/proc/$main/numa_maps" | tr ' ' '\n' | sed -n 's/^\(N[0-9]*\)=.*/\1/p' | sort -u)"
# What was charged to the group since it was made, by node: what all its processes touched, not only the shell.
charged() { grep "^$1 " "$group/memory.numa_stat" | tr ' ' '\n' | sed -n 's/^\(N[0-9]*\)=[1-9][0-9]*$/\1/p'; }
cat "$group/memory.numa_stat" | grep -E '^(anon|file|kernel_stack) '
equal charged-to-the-node "N$mems" "$(charged anon)"
anon=$(sed -n "s/^anon .*N$mems=\([0-9]*\).*/\1/p" "$group/memory.numa_stat")
check all-it-touched [ "$anon" -ge 6000000 ]
check others-kept-off kept_off "$group" "$cpus"

berth apply -f /opt/berth/settings/wide.yaml
wide_rejected() { berth describe wide-vm 2>/dev/null | grep -q TopologyAffinityError; }
check wide-is-rejected wait_for 30 wide_rejected
berth describe wide-vm
# Where the machine has enough and no node has: each node is named with what it lacks.
free=$(($(expand "$(cat /sys/fs/cgroup/cpuset.cpus.effective)" | wc -l) - 3))
if [ "$free" -ge 3 ]; then
  check short-on-a-node sh -c 'berth describe wide-vm | grep -Eq "^Detail: .*cpu: 3 CPUs asked.*on node [0-9] .*short"'
  berth apply -f /opt/berth/settings/fat.yaml
  fat_rejected() { berth describe fat-vm 2>/dev/null | grep -q TopologyAffinityError; }
  check fat-is-rejected wait_for 30 fat_rejected
  berth describe fat-vm | grep -E 'Detail|Message'
  check memory-short-on-a-node sh -c 'berth describe fat-vm | grep -Eq "^Detail: .*memory: 260Mi asked.*on node [0-9] .*short"'
fi
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(groups)"
rm -rf /tmp/node
