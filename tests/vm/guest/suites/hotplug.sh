# CPUs that go offline and come back while berthd runs: pool, ledger and the kernel's cpusets follow, and nobody gets on
# anybody's CPUs on the way.
. /opt/berth/suites/node.sh

shared() { sed -n 's/.*"shared": *"\([^"]*\)".*/\1/p' /tmp/node/state/ledger; }
switch() { echo "$1" >"/sys/devices/system/cpu/cpu$2/online"; }
effective() { cat "$1/cpuset.cpus.effective"; }
is_effective() { [ "$(effective "$1")" = "$2" ]; }
pool_is() { [ "$(shared)" = "$1" ] && is_effective "$node_top/berth" "$1"; }
said() { berth events | grep -q "$1"; }

check starts node_start /opt/berth/settings/numa.yaml /berth-vm
berth apply -f /opt/berth/settings/pinned.yaml -f /opt/berth/settings/spin.yaml
check runs wait_for 60 runs pinned
check pool-is-busy wait_for 60 runs spin
check ready wait_for 30 sh -c 'berth logs pinned-vm | grep -q ready'
group=$(group_of app)
cpus=$(effective "$group")
first=$(expand "$cpus" | head -n 1)
second=$(expand "$cpus" | tail -n 1)
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

switch 0 "$second"
check keeps-what-is-left wait_for 30 is_effective "$group" "$first"
check loss-is-said wait_for 30 said "lost CPUs $second of $cpus; it keeps $first"
check others-kept-off-2 kept_off "$group" "$cpus"
berth pods -o json | grep '"cpus"'
check still-promised sh -c "berth pods -o json | grep -q '\"cpus\": *\"$cpus\"'"

switch 0 "$first"
check without-any-cpu-in-the-pool wait_for 30 is_effective "$group" "$(shared)"
check that-is-said wait_for 30 said "it runs in the shared pool until they are back"

switch 1 "$first"
switch 1 "$second"
check gets-its-own-back wait_for 30 is_effective "$group" "$cpus"
check others-kept-off-3 kept_off "$group" "$cpus"
switch 1 "$spare"
check pool-is-whole-again wait_for 30 pool_is "$before"
equal same-process "$process" "$(pids)"
check nothing-was-called-a-repair sh -c '! berth events | grep CgroupRepaired'
berth events
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(find /sys/fs/cgroup -mindepth 1 -type d)"
rm -rf /tmp/node
