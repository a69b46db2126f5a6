# Groups of the host that settings name: systemCgroups, kubeletCgroups, runtimeCgroups.
. /opt/berth/suites/node.sh
own_groups="kubelet runtime"
place() { cat "/proc/$1/cgroup"; }
is_in() { [ "$(place "$1")" = "0::$2" ]; }
supervisor() { head -n 1 "$node_top/$1/cgroup.procs"; }

sleep 600 &
outsider=$!
equal outsider-in-the-root 0::/ "$(place $outsider)"
check starts node_start /opt/berth/settings/groups.yaml /berth-vm --config /opt/berth/settings/groups-berth.yaml
check outsider-moves wait_for 30 is_in $outsider /system
check said-so wait_for 30 sh -c 'berth events | grep -q "processes were moved here from the root cgroup"'
equal first-process-stays 0::/ "$(place 1)"
equal kernel-threads-stay 0::/ "$(place 2)"
equal berthd-in-its-group 0::/berth-vm/kubelet "$(place $node_pid)"

berth apply -f /opt/berth/examples/pods/latency.yaml
check runs wait_for 60 runs latency
equal supervisor-in-its-group berth-shim "$(cat /proc/$(supervisor runtime)/comm)"
group=$(group_of loop)
cpus=$(cat "$group/cpuset.cpus.effective")
check others-kept-off kept_off "$group" "$cpus"
berth tree | head -n 8
check tree-shows-them sh -c 'berth tree | grep "^/system .*process.*systemCgroups"'
equal nothing-wrong 0 "$(berth tree --wrong >/dev/null 2>&1; echo $?)"

# Without the settings: berthd and its supervisors go home, containers stay where they are.
before=$(pids)
kill -KILL $node_pid
wait $node_pid
check starts-without-names node_start /opt/berth/settings/spread.yaml /berth-vm
equal same-processes "$before" "$(pids)"
equal berthd-at-home 0::/berth-vm/berth "$(place $node_pid)"
equal supervisors-follow "" "$(cat "$node_top/runtime/cgroup.procs")"
own_groups=berth
check others-kept-off-again kept_off "$group" "$cpus"
node_stop
equal stops 0 $?
rmdir "$node_top/kubelet" "$node_top/runtime" "$node_top"

# What is reserved for a group of the host, and given back when settings do not name the group any more.
rm -f /tmp/node/pods/*
{ sed '/reservedSystemCPUs/d; /Cgroups:/d; /cgroupRoot/d' /opt/berth/settings/groups.yaml
  printf '%s\n' 'systemReserved: {cpu: "1", pid: "900"}' 'systemReservedCgroup: /system' 'enforceNodeAllocatable: [pods, system-reserved]'
} >/tmp/reserved.yaml
check starts-with-reservation node_start /tmp/reserved.yaml /berth-vm
equal reserved-processes 900 "$(cat /sys/fs/cgroup/system/pids.max)"
equal reserved-weight 39 "$(cat /sys/fs/cgroup/system/cpu.weight)"
node_stop
check starts-without-reservation node_start /opt/berth/settings/spread.yaml /berth-vm
equal processes-given-back max "$(cat /sys/fs/cgroup/system/pids.max)"
equal weight-given-back 100 "$(cat /sys/fs/cgroup/system/cpu.weight)"
node_stop
equal stops-again 0 $?

# Memory that is kept and slowed down as a kubelet 1.37 has it; all of it given back when the gate is turned off under a pod that runs.
printf '%s\n' 'apiVersion: berth.dev/v1alpha1' 'kind: BerthConfiguration' 'kubeletVersion: "1.37"' >/tmp/berth-1.37.yaml
{ cat /opt/berth/settings/spread.yaml; printf '%s\n' 'memoryReservationPolicy: TieredReservation' 'memoryThrottlingFactor: 0.5'; } >/tmp/qos.yaml
{ cat /opt/berth/settings/spread.yaml; echo 'featureGates: {MemoryQoS: false}'; } >/tmp/no-qos.yaml
check starts-with-memory-qos node_start /tmp/qos.yaml /berth-vm --config /tmp/berth-1.37.yaml
berth apply -f /opt/berth/examples/pods/web.yaml
app_runs() { app=$(group_of app) && [ -n "$app" ] && grep -q . "$app/cgroup.procs"; }
check web-runs wait_for 60 app_runs
kept() { cat "$node_pods/memory.min" "$node_pods/memory.low" "$(node_tier burstable)/memory.low" "$app/memory.low" "$app/memory.high" | tr '\n' ' '; }
equal memory-kept "50331648 50331648 50331648 33554432 83886080 " "$(kept)"
before=$(pids)
kill -KILL $node_pid
wait $node_pid
check starts-without-memory-qos node_start /tmp/no-qos.yaml /berth-vm --config /tmp/berth-1.37.yaml
nothing_kept() { [ "$(kept)" = "0 0 0 0 max " ]; }
check memory-given-back wait_for 60 nothing_kept
equal web-goes-on "$before" "$(pids)"
rm -f /tmp/node/pods/*
node_stop
equal stops-after-memory-qos 0 $?

# Settings that contradict each other: refused before anything is touched.
refused() { # NAME WORDS SETTING...
  name=$1 words=$2
  shift 2
  { sed '/Cgroups:/d; /cgroupRoot/d' /opt/berth/settings/groups.yaml; printf '%s\n' "$@"; } >/tmp/bad.yaml
  out=$(berthd --check-config --node-name vm --kubelet-config /tmp/bad.yaml 2>&1)
  equal "$name-status" 1 $?
  check "$name" sh -c "echo \"$out\" | grep -q '$words'"
}
refused system-is-the-root "name a group such as /system" "cgroupRoot: /" "systemCgroups: /"
refused system-is-berthds "name another one" "cgroupRoot: /" "systemCgroups: /k" "kubeletCgroups: /k"
refused kubelet-elsewhere "below the cgroup root" "cgroupRoot: /berth-vm" "kubeletCgroups: /k"

kill $outsider
wait $outsider
echo $$ >/sys/fs/cgroup/cgroup.procs
for pid in $(cat /sys/fs/cgroup/system/cgroup.procs); do echo "$pid" >/sys/fs/cgroup/cgroup.procs; done
rmdir /sys/fs/cgroup/system
rm -rf /tmp/node
equal leaves-no-groups "" "$(find /sys/fs/cgroup -mindepth 1 -type d)"
