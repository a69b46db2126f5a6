# A container of 4 GiB moves to another node: another thread of berthd waits for the kernel meanwhile, and the loop goes on.
. /opt/berth/suites/node.sh
# pod NAME: its manifest.
pod() { awk -v RS='---\n' -v name="name: $1}" 'index($0, name)' /opt/berth/settings/large-pods.yaml; }
apply() { pod "$1" >"/tmp/$1.yaml" && berth apply -f "/tmp/$1.yaml"; }
# MiB of the container's processes on a node, as the kernel counts them.
held() { sed -n "s/^anon .*N$1=\([0-9]*\).*/\1/p" "$group/memory.numa_stat" | awk '{ printf "%d", $1 / 1048576 }'; }
holds() { [ "$(held "$1")" -ge "$2" ]; }
# loop FIELD: of what berthd says of its loop.
loop() { berth status -o jsonpath="{.loop.$1}"; }

check starts node_start /opt/berth/settings/numa.yaml /berth-vm --config /opt/berth/settings/own.yaml
apply filler
check filler-runs wait_for 60 runs filler
apply large
check large-runs wait_for 60 runs large
apply probed
check probed-runs wait_for 60 runs probed
group=$(group_of large)
equal on-node-1 1 "$(cat "$group/cpuset.mems")"
check has-4-GiB wait_for 120 holds 1 4096
berth delete filler-vm
check filler-goes wait_for 60 gone filler
apply wide
check wide-waits wait_for 60 sh -c 'berth describe wide-vm | grep -q WaitingForRoom'
before=$(loop longestAwayMs)
turns=$(loop turns)
read -r begin _ </proc/uptime
berth defrag --apply
# The kernel says where each thread is. Another than the loop's, which is the first of the process, is in the write that waits
# for the memory; the loop's writes to no cpuset meanwhile, for it would wait, too.
writers=
look() {
  writers=$(grep -l cpuset_write_resmask /proc/"$node_pid"/task/*/stack 2>/dev/null | sed 's#/stack$##; s#.*/##' | tr '\n' ' ')
  for writer in $writers; do [ "$writer" = "$node_pid" ] || found=yes; done
  case "$writers" in "$node_pid "?*) loop_waited=yes ;; esac
}
found=no loop_waited=no
another_waits() { look && [ $found = yes ]; }
check another-thread-waits wait_for 60 another_waits
is_on() { [ "$(cat "$group/cpuset.mems")" = "$1" ]; }
check is-to-move wait_for 60 is_on 0
moved() { look && holds 0 4090; }
check moved wait_for 300 moved
read -r end _ </proc/uptime
away=$(loop longestAwayMs)
took=$(awk "BEGIN { printf \"%d\", ($end - $begin) * 1000 }")
echo "4 GiB moved in $took ms; the loop turned $(($(loop turns) - turns)) times and was away for $away ms at most, $before ms before ($(loop longestAwayWhat); within the last minute $(loop longestAwayLastMinuteMs) ms, $(loop longestAwayLastMinuteWhat))"
equal loop-waited no "$loop_waited"
check wide-gets-in wait_for 60 runs wide
check wide-alone kept_off "$(group_of wide)" 2-3
node_stop
equal stops 0 $?
rm -rf /tmp/node
