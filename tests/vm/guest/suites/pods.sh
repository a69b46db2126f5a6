# The real berthd with the example pods, in a cgroup of its own and at the very root.
. /opt/berth/suites/node.sh
all=$(cat /sys/devices/system/cpu/online)
effective() { cat "$1/$node_effective"; }
# value GROUP FILE-OF-V2 FILE-OF-V1: with v1 in the hierarchy of the controller that the file is called after.
value() {
  if [ "$node_version" = 2 ]; then cat "$1/$2"; else cat "/sys/fs/cgroup/${3%%.*}/${1#"$node_mount"/}/$3"; fi
}
# of_version V2 V1: what is expected.
of_version() { if [ "$node_version" = 2 ]; then echo "$1"; else echo "$2"; fi; }
quota() { of_version "$(value "$1" cpu.max cpu.cfs_quota_us)" "$(value "$1" cpu.max cpu.cfs_quota_us) $(value "$1" cpu.max cpu.cfs_period_us)"; }

check starts node_start /opt/berth/examples/kubelet.yaml /berth-vm
for pod in latency web batch toobig; do berth apply -f /opt/berth/examples/pods/$pod.yaml; done
# On a guest that gets little time starts fail at their deadline, and are tried again after 10, 20, 40 and 80 s.
check settles wait_for 240 settled
check latency-runs wait_for 30 runs latency
check batch-runs wait_for 120 runs batch
runs batch || berth describe batch-vm
berth pods
berth map

latency=$(group_of loop)
cpus=$(effective "$latency")
equal exclusive-count 1 "$(expand "$cpus" | wc -l)"
equal first-words "round 1 on CPU $cpus" "$(wait_for 20 sh -c 'berth logs latency-vm | grep -q round' && berth logs latency-vm | grep -o 'round 1 on.*')"
equal main-allowed "$cpus" "$(allowed "$(head -1 "$latency/cgroup.procs")")"
check others-kept-off kept_off "$latency" "$cpus"
check reserved-cpu-stays-shared sh -c "[ '$cpus' != 0 ]"
check toobig-is-explained sh -c 'berth describe toobig-vm | grep -Eq "OutOfcpu|TopologyAffinityError|UnexpectedAdmissionError"'

# 1 CPU: 1024 shares, weight 100 for the container and 39 for the levels above; no quota for exclusive CPUs.
equal latency-weight "$(of_version 100 1024)" "$(value "$latency" cpu.weight cpu.shares)"
equal latency-pod-weight "$(of_version 39 1024)" "$(value "$(dirname "$latency")" cpu.weight cpu.shares)"
equal latency-quota "$(of_version "max 100000" "-1 100000")" "$(quota "$latency")"
equal latency-memory 67108864 "$(value "$latency" memory.max memory.limit_in_bytes)"
equal latency-pod-memory 67108864 "$(value "$(dirname "$latency")" memory.max memory.limit_in_bytes)"
check web-runs wait_for 30 runs web
web=$(group_of app)
equal web-quota "50000 100000" "$(quota "$web")"
equal web-memory 134217728 "$(value "$web" memory.max memory.limit_in_bytes)"
equal besteffort-weight "$(of_version 1 2)" "$(value "$(node_tier besteffort)" cpu.weight cpu.shares)"
if [ "$node_version" = 2 ]; then
  # systemd hands down what it uses itself as well.
  ours() { tr ' ' '\n' <"$1/cgroup.subtree_control" | grep -xE 'cpuset|cpu|memory|pids|hugetlb' | sort | xargs; }
  for group in $node_top $node_pods $(node_tier burstable); do
    equal "controllers-$(basename "$group")" "$(ours /sys/fs/cgroup)" "$(ours "$group")"
  done
  equal controllers-not-on-a-leaf "" "$(cat "$latency/cgroup.subtree_control")"
else
  # One group in every hierarchy.
  main=$(head -n 1 "$latency/cgroup.procs")
  equal in-all-hierarchies "/${latency#"$node_mount"/}" "$(cut -d: -f3 "/proc/$main/cgroup" | grep -v '^/$' | sort -u)"
  equal hierarchies-with-it "$(ls /sys/fs/cgroup | wc -l)" "$(cut -d: -f3 "/proc/$main/cgroup" | grep -c -v '^/$')"
fi

before=$(pids)
for round in 1 2; do
  kill -KILL $node_pid
  wait $node_pid
  check killed-$round-starts-again node_start /opt/berth/examples/kubelet.yaml /berth-vm
  equal killed-$round-same-processes "$before" "$(pids)"
  equal killed-$round-same-cpus "$cpus" "$(effective "$latency")"
  check killed-$round-others-kept-off kept_off "$latency" "$cpus"
done

berth delete latency-vm
check latency-goes wait_for 30 gone latency
check latency-leaves-no-group sh -c "[ ! -e '$(dirname "$latency")' ]"
pool_is_whole() {
  case " $(others_than /nowhere | xargs) " in *" $node_pid "*) ;; *) return 1 ;; esac # it looks at somebody
  for pid in $(others_than /nowhere); do [ "$(allowed "$pid")" = "$all" ] || [ ! -e "/proc/$pid" ] || return 1; done
}
check pool-grows wait_for 20 pool_is_whole

node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(groups)"
equal leaves-no-processes "" "$(pidof berthd berth-shim)"
rm -rf /tmp/node

check root-starts node_start /opt/berth/examples/kubelet.yaml /
berth apply -f /opt/berth/examples/pods/latency.yaml
check root-latency-runs wait_for 30 runs latency
equal root-count 1 "$(expand "$(effective "$(group_of loop)")" | wc -l)"
node_stop
equal root-stops 0 $?
equal root-leaves-no-groups "" "$(groups)"
rm -rf /tmp/node

# Somebody else's processes sit where Berth's groups shall be: the kernel allows no children with controllers there.
# (Nobody can start processes in a slice, so this is for cgroupfs; and v1 has no such rule.)
if [ ! -d /run/systemd/system ] && [ "$node_version" = 2 ]; then
  mkdir /sys/fs/cgroup/taken
  sleep 600 &
  sleeper=$!
  echo $sleeper >/sys/fs/cgroup/taken/cgroup.procs
  mkdir -p /tmp/node/pods
  timeout 20 berthd --kubelet-config /opt/berth/examples/kubelet.yaml --cgroup-root /taken $node_options >/tmp/taken.log 2>&1
  equal taken-ends 1 $?
  cat /tmp/taken.log
  check taken-is-explained grep -q 'processes live in /sys/fs/cgroup/taken' /tmp/taken.log
  kill $sleeper
  wait $sleeper
  rmdir /sys/fs/cgroup/taken
  rm -rf /tmp/node
fi
