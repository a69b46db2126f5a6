# Exclusive CPUs as partitions of the kernel's: where the kernel has them for containers, and where it has not.
. /opt/berth/suites/node.sh
said() { berth events | grep -Eq "$1"; }
top() { cat "/sys/fs/cgroup/$1"; }
partition_is() { [ "$(cat "$group/cpuset.cpus.partition")" = "$1" ]; }
top_is() { [ "$(top cpuset.cpus.effective)" = "$1" ]; }
all=$(top cpuset.cpus.effective)
rest() { expand "$all" | grep -vx "$cpus" | tr '\n' ' '; }
top_has_the_rest() { [ "$(expand "$(top cpuset.cpus.effective)" | tr '\n' ' ')" = "$(rest)" ]; }
start() { node_start /opt/berth/settings/spread.yaml /berth-vm "$@"; }

check starts start --config /opt/berth/settings/partition-isolated.yaml
berth apply -f /opt/berth/examples/pods/latency.yaml -f /opt/berth/settings/spin.yaml
check runs wait_for 60 runs latency
check pool-is-busy wait_for 60 runs spin
group=$(group_of loop)
cpus=$(cat "$group/cpuset.cpus.effective")
equal exclusive 1 "$(expand "$cpus" | wc -l)"
check others-kept-off kept_off "$group" "$cpus"

if [ ! -e "$node_top/cpuset.cpus.exclusive" ]; then
  check fallback-is-said said 'CpuPartitionUnavailable.*cpuPartition: isolated: .*Linux has from 6.7 on'
  check runs-as-a-member partition_is member
else
  check isolated partition_is isolated
  check nothing-to-say sh -c '! berth events | grep -q CpuPartitionUnavailable'
  check taken-from-everybody top_has_the_rest
  equal isolated-for-the-kernel "$cpus" "$(top cpuset.cpus.isolated)"
  check own-shell-kept-off differ "$(allowed $$)" "$cpus"
  equal runs-there "$cpus" "$(allowed "$(head -n 1 "$group/cgroup.procs")")"
  equal nothing-wrong 0 "$(berth tree --wrong >/dev/null 2>&1; echo $?)"

  # The pool shrinks and grows beside it.
  awk 'found; /^---/ { found = 1 }' /opt/berth/settings/busy.yaml >/tmp/neighbour.yaml
  berth apply -f /tmp/neighbour.yaml
  check neighbour-runs wait_for 60 runs neighbour
  neighbour=$(group_of alone)
  equal neighbour-is-isolated isolated "$(cat "$neighbour/cpuset.cpus.partition")"
  check neighbour-alone kept_off "$neighbour" "$(cat "$neighbour/cpuset.cpus.effective")"
  check isolated-beside-it partition_is isolated
  equal nothing-wrong-beside-it 0 "$(berth tree --wrong >/dev/null 2>&1; echo $?)"
  berth delete neighbour-vm
  check neighbour-goes wait_for 30 gone neighbour
  check taken-from-everybody-still wait_for 10 top_has_the_rest
  equal isolated-still "$cpus" "$(top cpuset.cpus.isolated)"
  check nothing-was-put-right sh -c '! berth events | grep CgroupRepaired'

  echo member >"$group/cpuset.cpus.partition"
  check put-right wait_for 20 partition_is isolated
  check put-right-is-said wait_for 20 said 'CgroupRepaired.*must be isolated'
  echo 0 >"$node_top/kubepods/cpuset.cpus.exclusive" # a level that lists less ends the partition in silence
  check put-right-above wait_for 20 partition_is isolated
  check others-kept-off-then kept_off "$group" "$cpus"

  echo 0 >"/sys/devices/system/cpu/cpu$cpus/online"
  check offline-is-said wait_for 30 said "CpusOffline.*lost CPUs $cpus"
  check offline-is-a-member wait_for 30 partition_is member
  echo 1 >"/sys/devices/system/cpu/cpu$cpus/online"
  check online-again wait_for 30 partition_is isolated
  check taken-again wait_for 30 top_has_the_rest

  before=$(pids)
  kill -KILL $node_pid
  wait $node_pid
  check killed-starts-again start --config /opt/berth/settings/partition-isolated.yaml
  equal killed-same-processes "$before" "$(pids)"
  check killed-still-isolated partition_is isolated
  kill -KILL $node_pid
  wait $node_pid
  check starts-without start
  check without-a-member wait_for 20 partition_is member
  check without-everybody-has-all top_is "$all"
  equal without-same-cpus "$cpus" "$(cat "$group/cpuset.cpus.effective")"
  kill -KILL $node_pid
  wait $node_pid
  check starts-with-again start --config /opt/berth/settings/partition-isolated.yaml
  check isolated-again wait_for 20 partition_is isolated
  berth delete latency-vm
  check goes wait_for 30 gone latency
  check everybody-has-all-again wait_for 20 top_is "$all"
  equal lists-nothing "" "$(cat "$node_top/kubepods/cpuset.cpus.exclusive")"
  berth apply -f /opt/berth/examples/pods/latency.yaml
  check comes-again wait_for 60 runs latency
  group=$(group_of loop)
  check comes-isolated partition_is isolated
fi
berth events | tail -n 20
node_stop
equal stops 0 $?
check gives-everything-back top_is "$all"
equal leaves-no-groups "" "$(find /sys/fs/cgroup -mindepth 1 -type d)"
rm -rf /tmp/node
