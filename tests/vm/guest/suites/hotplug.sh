# CPUs that go offline and come back while berthd runs: pool, ledger and the kernel's cpusets follow, and nobody gets on
# anybody's CPUs on the way.
. /opt/berth/suites/node.sh

shared() { sed -n 's/.*"shared": *"\([^"]*\)".*/\1/p' /tmp/node/state/ledger; }
switch() { echo "$1" >"/sys/devices/system/cpu/cpu$2/online"; }
effective() { cat "$1/$node_effective"; }
is_effective() { [ "$(effective "$1")" = "$2" ]; }
pool_is() { [ "$(shared)" = "$1" ] && is_effective "$node_own" "$1"; }
said() { berth events | grep -q "$1"; }

check starts node_start /opt/berth/settings/numa.yaml /berth-vm
berth apply -f /opt/berth/settings/busy.yaml -f /opt/berth/settings/spin.yaml
check runs wait_for 60 runs busy
check neighbour-runs wait_for 60 runs neighbour
check pool-is-busy wait_for 60 runs spin
check ready wait_for 30 sh -c 'berth logs busy-vm | grep -q ready'
group=$(group_of app)
cpus=$(effective "$group")
first=$(expand "$cpus" | head -n 1)
second=$(expand "$cpus" | tail -n 1)
neighbour=$(group_of alone)
its_cpu=$(effective "$neighbour")
before=$(shared)
spare=$(expand "$before" | tail -n 1)
process=$(pids)
equal pinned-to-two 2 "$(expand "$cpus" | wc -l)"

switch 0 "$spare"
rest=$(expand "$before" | grep -vx "$spare" | tr '\n' ' ')
pool_has_only_the_rest() { [ "$(expand "$(shared)" | tr '\n' ' ')" = "$rest" ]; }
check pool-follows wait_for 30 pool_has_only_the_rest
check pool-loss-is-said wait_for 30 said "CPUs $spare went offline"
check pinned-untouched is_effective "$group" "$cpus"
check others-kept-off-1 kept_off "$group" "$cpus"
check neighbour-alone-1 kept_off "$neighbour" "$its_cpu"

switch 0 "$second"
check keeps-what-is-left wait_for 30 is_effective "$group" "$first"
check loss-is-said wait_for 30 said "lost CPUs $second of $cpus; it keeps $first"
check others-kept-off-2 kept_off "$group" "$cpus"
check neighbour-alone-2 kept_off "$neighbour" "$its_cpu"
berth pods -o json | grep '"cpus"'
check still-promised sh -c "berth pods -o json | grep -q '\"cpus\": *\"$cpus\"'"

switch 0 "$first"
check without-any-cpu-in-the-pool wait_for 30 is_effective "$group" "$(shared)"
check that-is-said wait_for 30 said "it runs in the shared pool until they are back"
check neighbour-alone-without kept_off "$neighbour" "$its_cpu"

switch 1 "$first"
switch 1 "$second"
check gets-its-own-back wait_for 30 is_effective "$group" "$cpus"
check others-kept-off-3 kept_off "$group" "$cpus"
check neighbour-alone-3 kept_off "$neighbour" "$its_cpu"
switch 1 "$spare"
check pool-is-whole-again wait_for 30 pool_is "$before"
# Groups of pods get it after berthd's own, which is all that pool_is looks at.
has_both() { [ "$(expand "$(effective "${group%/*}")" | tr '\n' ' ')" = "$( (expand "$before"; expand "$cpus") | sort -n | tr '\n' ' ')" ]; }
check pod-has-the-pool-again wait_for 30 has_both

# What the kernel does before berthd can: it gives a container that has lost all of its own the CPUs of the group above.
kill -STOP "$node_pid"
switch 0 "$first"
switch 0 "$second"
# Berth has left it only the pool for that.
main=$(head -n 1 "$group/cgroup.procs")
[ -n "$main" ] || main=$(head -n 1 "${group%/*}/cgroup.procs") # on v1 the kernel moves the processes
runs_on_the_pool() { [ "$(allowed "$main")" = "$before" ]; }
wait_for 10 runs_on_the_pool
equal moved-into-the-pool-while-berthd-stands-still "$before" "$(allowed "$main")"
check neighbour-alone-while-berthd-stands-still kept_off "$neighbour" "$its_cpu"
kill -CONT "$node_pid"
switch 1 "$first"
switch 1 "$second"
check gets-its-own-back-after-that wait_for 30 is_effective "$group" "$cpus"
check pool-is-whole-after-that wait_for 30 pool_is "$before"

# In quick turns, without waiting for anything: nobody is on the neighbour's CPU at any look.
for round in 1 2; do
  for cpu in $first $spare $second; do
    switch 0 "$cpu"
    check "turn-$round-off-$cpu" kept_off "$neighbour" "$its_cpu"
  done
  for cpu in $second $first $spare; do switch 1 "$cpu"; done
  check "turn-$round-on" kept_off "$neighbour" "$its_cpu"
done
check busy-has-its-own-again wait_for 30 is_effective "$group" "$cpus"
check pool-is-whole-after-the-turns wait_for 30 pool_is "$before"
check others-kept-off-after-the-turns kept_off "$group" "$cpus"
equal neighbour-never-moved "$its_cpu" "$(effective "$neighbour")"
equal same-process "$process" "$(pids)"
# On v1 the kernel moves the processes, and may do so after Berth has looked.
moved_by_kernel='^$'
[ "$node_version" = 2 ] || moved_by_kernel='in the cpuset above'
check nothing-was-called-a-repair sh -c "! berth events | grep CgroupRepaired | grep -v '$moved_by_kernel' >&2"
berth events
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(groups)"
rm -rf /tmp/node
