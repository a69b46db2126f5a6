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
check others-kept-off kept_off "$group" "$cpus"

berth apply -f /opt/berth/settings/wide.yaml
wide_rejected() { berth describe wide-vm 2>/dev/null | grep -q TopologyAffinityError; }
check wide-is-rejected wait_for 30 wide_rejected
berth describe wide-vm
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(find /sys/fs/cgroup -mindepth 1 -type d)"
rm -rf /tmp/node
