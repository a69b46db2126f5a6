# CPUs, memory and huge pages that come while berthd runs are used, memory that goes is given up, and what runs stays
# where it is. At its start berthd knows four CPUs and half of the second node's memory.
. /opt/berth/suites/node.sh

said() { berth events | grep -Eq "$1"; }
rejected() { berth describe "$1-vm" 2>/dev/null | grep -Eq "TopologyAffinityError|UnexpectedAdmissionError|OutOf"; }
cpus() { for cpu in 4 5 6 7; do echo "$1" >/sys/devices/system/cpu/cpu$cpu/online; done; }
modules() { for block in $blocks; do echo "$1" >"/sys/devices/system/memory/memory$block/state"; done; }
mems() { cat "$1/cpuset.mems"; }
pod() { # NAME CPUS MEMORY [MORE]
  cat >"/tmp/$1.yaml" <<END
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: $1, command: [/bin/sleep, "600"], resources: {limits: {cpu: $2, memory: $3$4}}}
END
  berth apply -f "/tmp/$1.yaml"
}
stays() { # WHEN: what ran from the beginning is where it was, and alone there
  equal "same-processes-$1" "$process" "$(pids | grep -E "$known")"
  equal "same-cpus-$1" "$its_cpus" "$(cat "$busy/cpuset.cpus.effective")"
  check "alone-$1" kept_off "$busy" "$its_cpus"
}

blocks=$(ls -d /sys/devices/system/memory/memory*/node1 | sed 's#.*/memory\([0-9]*\)/.*#\1#' | awk '$1 >= 32')
equal two-modules 2 "$(echo "$blocks" | wc -l)"
modules offline
cpus 0
check starts node_start /opt/berth/settings/numa.yaml /berth-vm
berth apply -f /opt/berth/settings/busy.yaml -f /opt/berth/settings/spin.yaml
check runs wait_for 60 runs busy
check neighbour-runs wait_for 60 runs neighbour
check pool-is-busy wait_for 60 runs spin
busy=$(group_of app)
its_cpus=$(cat "$busy/cpuset.cpus.effective")
process=$(pids)
known=$(echo "$process" | tr -dc '0-9\n' | paste -s -d '|' -)
pod wide 3 160Mi
check wide-does-not-fit wait_for 30 rejected wide

cpus 1
check cpus-join wait_for 30 said "MachineChanged.*CPUs .* joined"
check wide-runs-then wait_for 60 runs wide
wide=$(group_of wide)
equal wide-is-on-node-1 1 "$(mems "$wide")"
check wide-is-alone kept_off "$wide" "$(cat "$wide/cpuset.cpus.effective")"
stays with-cpus
pod late 1 120Mi
check late-does-not-fit wait_for 30 rejected late

modules online_movable
check memory-joins wait_for 60 said 'MachineChanged.*node 1 has .* of memory'
check late-runs-then wait_for 60 runs late
equal late-is-on-node-1 1 "$(mems "$(group_of late)")"
stays with-memory
check keeps-its-promises berth state verify

echo 4 >/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages
check pages-join wait_for 60 said 'MachineChanged.*node 1 has 4 huge pages of 2Mi'
check node-has-pages sh -c 'berth describe node | grep -q "hugepages-2Mi"'
stays with-pages
echo 0 >/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages
check pages-go wait_for 60 said 'MachineChanged.*node 1 has 0 huge pages of 2Mi'

modules offline
check memory-goes wait_for 60 said 'Warning.*MachineChanged.*node 1 has .* of memory'
check late-lost-its-memory wait_for 30 said 'LedgerAdapted.*late-vm.*not booked any more'
check late-runs-on runs late
stays with-less
check keeps-its-promises-with-less berth state verify
kill -KILL $node_pid
wait $node_pid
check starts-again node_start /opt/berth/settings/numa.yaml /berth-vm
stays after-a-start
equal nothing-else-was-adapted 1 "$(berth events | grep -c LedgerAdapted)"
check nothing-was-called-a-repair sh -c "! berth events | grep CgroupRepaired >&2"
berth events | tail -n 40
modules online_movable
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(groups)"
rm -rf /tmp/node
