# Berth's own rules on real nodes: isolated CPUs apart, a container with CPUs of its own and the pool beside, moves that
# make room, pods that wait, a critical one, and a resize of them. Nodes of four CPUs; the kernel isolates 14-15.
. /opt/berth/suites/node.sh
start() { node_start /opt/berth/settings/numa.yaml /berth-vm --config /opt/berth/settings/own.yaml; }
pool() { cat /tmp/node/run/cpus/shared; }
pool_is() { [ "$(pool)" = "$1" ]; }
own_cpus() { cat "$(group_of "$1")/cpuset.cpus"; }
main_of() { head -n 1 "$(group_of "$1")/cgroup.procs"; }
# mix COUNT, big NAME PRIORITY: applies the manifest with these.
mix() { sed "s/COUNT/$1/" /opt/berth/settings/own-mix.yaml >/tmp/mix.yaml && berth apply -f /tmp/mix.yaml; }
big() { sed "s/NAME/$1/; s/PRIORITY/$2/" /opt/berth/settings/own-big.yaml >"/tmp/$1.yaml" && berth apply -f "/tmp/$1.yaml"; }
says() { berth describe "$1-vm" 2>/dev/null | grep -q "$2"; }

equal kernel-isolates 14-15 "$(cat /sys/devices/system/cpu/isolated)"
check starts start
equal kept-out-of-the-pool 0-13 "$(cat "$node_own/cpuset.cpus")"
mix 2
check mixed-runs wait_for 60 runs mix
check mixed-is-told wait_for 30 sh -c 'berth logs mix-vm | grep -q "^own 14-15 pool 0-13 now 0-13$"'
equal mixed-has-both 0-15 "$(own_cpus mixed)"
check nobody-else-there kept_off "$(group_of mixed)" 14-15

sed 's/cpus: .*$/cpus: shared}/; s/name: mix$/name: denied/' /tmp/mix.yaml >/tmp/denied.yaml
berth explain -f /tmp/denied.yaml >/tmp/explained
check rule-is-named grep -q 'rule "lab" of podPolicies does not allow CPUs that are shared (it allows exclusive, mixed)' /tmp/explained

berth apply -f /opt/berth/settings/own-pods.yaml
check all-run wait_for 60 sh -c '[ "$(berth pods | grep -c Running)" = 5 ]'
check holds-memory wait_for 30 sh -c 'berth logs third-vm | grep -q ready'
equal mixed-follows-the-pool 0,10-15 "$(own_cpus mixed)"
check file-follows-the-pool wait_for 10 pool_is 0,10-13
berth delete second-vm
check second-goes wait_for 30 gone second
big wide 0
check waits wait_for 30 says wide WaitingForRoom
check place-is-shown sh -c 'berth pods | grep -q "WaitingForRoom 1/1"'
berth map
before=$(main_of three)
berth defrag --apply --per-minute 60
check wide-gets-in wait_for 30 runs wide
equal wide-has-a-node 4-7 "$(own_cpus wide)"
equal moved 10-11 "$(own_cpus three)"
equal moved-while-it-ran "$before 10-11" "$(main_of three) $(allowed "$before")"
equal memory-moved 2 "$(cat "$(group_of three)/cpuset.mems")"
equal pages-moved N2 "$(grep -w heap "/proc/$before/numa_maps" | tr ' ' '\n' | sed -n 's/^\(N[0-9]*\)=.*/\1/p' | sort -u)"
check wide-alone kept_off "$(group_of wide)" 4-7
check moved-alone kept_off "$(group_of three)" 10-11

big late 0
check late-waits wait_for 30 says late WaitingForRoom
berth delete wide-vm
check late-gets-in wait_for 60 runs late
big critical 2000000000
check critical-gets-in wait_for 60 runs critical
check late-was-preempted says late Preempting
equal critical-has-its-cpus 4-7 "$(own_cpus critical)"

before=$(main_of mixed)
mix 3
check grows wait_for 30 pool_is 0,13
equal nearest-is-added 0,12-15 "$(own_cpus mixed)"
mix 1
check shrinks wait_for 30 pool_is 0,12-13
equal what-it-had-stays 0,12-14 "$(own_cpus mixed)"
equal same-process "$before" "$(main_of mixed)"
pids >/tmp/pids
kill -9 "$node_pid"
wait "$node_pid"
check starts-again start
check all-known-again wait_for 30 sh -c 'berth pods -o json | grep "\"pid\":" | sort | cmp -s - /tmp/pids'
equal after-the-kill "0,12-14 0,12-13" "$(own_cpus mixed) $(pool)"
check still-alone kept_off "$(group_of mixed)" 14
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(groups)"
rm -rf /tmp/node
