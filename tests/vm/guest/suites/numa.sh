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
# What berth tells of it is what the kernel counts, processes and files, and none of it is far.
counted() { sed -n "s/^\(anon\|file\) .*N$1=\([0-9]*\).*/\2/p" "$group/memory.numa_stat" | awk '{ sum += $1 } END { print sum + 0 }'; }
told() { berth top -o jsonpath="{.pods[?(@.podRef.name=='$2-vm')].containers[0].memory.numaBytes['$1']}"; }
told_as_counted() { [ "$(told "$1" "$2")" = "$(counted "$1")" ] && [ "$(counted "$1")" -gt 0 ]; }
check tells-memory-by-node wait_for 20 told_as_counted "$mems" pinned
# The column REMOTE.
remote() { berth top --once | awk -v pod="default/$1-vm" '$1 == pod { print $(NF - 2), $(NF - 1) }'; }
equal none-is-far "0 B" "$(remote pinned)"

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

# With nobody's memory booked, files that are made on another node's memory are far from the CPUs, and that is told.
rm -rf /tmp/node
sed '/^memoryManagerPolicy/d; /^reservedMemory/,$d' /opt/berth/settings/numa.yaml >/tmp/unbooked.yaml
far=$(sed 's/.*[-,]//' /sys/devices/system/node/online)
mkdir -p /tmp/far
mount -t tmpfs -o "mpol=bind:$far,size=16m" far /tmp/far
check starts-unbooked node_start /tmp/unbooked.yaml /berth-vm
berth apply -f /opt/berth/settings/far.yaml
check far-runs wait_for 30 sh -c 'berth logs far-vm | grep -q ready'
group=$(group_of app)
for cpu in $(expand "$(cat "$group/cpuset.cpus.effective")"); do check "far-from-cpu$cpu" [ ! -e "/sys/devices/system/node/node$far/cpu$cpu" ]; done
check far-is-counted [ "$(counted "$far")" -ge 4000000 ]
check tells-far-memory wait_for 20 told_as_counted "$far" far
# The file, and what its processes touched before they were on its CPUs.
shown_as_counted() { [ "$(remote "$2")" = "$(counted "$1" | awk '{ mib = sprintf("%.1f", $1 / 1048576); sub(/\.0$/, "", mib); print mib " MiB" }')" ]; }
berth top --once
check shows-far-memory wait_for 20 shown_as_counted "$far" far
node_stop
umount /tmp/far

# One line keeps a command to a node.
one=$(berth run --once --numa 1 --cpus 1 -- cat /proc/self/status)
equal run-numa-memory 1 "$(echo "$one" | sed -n 's/^Mems_allowed_list:[^0-9]*//p')"
cpu=$(echo "$one" | sed -n 's/^Cpus_allowed_list:[^0-9]*//p')
check run-numa-cpu sh -c "[ '$cpu' -ge 0 ] && [ -d '/sys/devices/system/node/node1/cpu$cpu' ]"
shared=$(berth run --once --numa 1 -- cat /proc/self/status | sed -n 's/^Cpus_allowed_list:[^0-9]*//p')
equal run-numa-shared "$(cat /sys/devices/system/node/node1/cpulist)" "$shared"
check once-leaves-nothing [ ! -e /run/berth-once ]
equal leaves-no-groups "" "$(groups)"
rm -rf /tmp/node
