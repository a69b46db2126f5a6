# Memory and processes run short on a node with little of both: who goes, and what is said about it.
. /opt/berth/suites/node.sh
said() { berth events | grep -Eq "$1"; }
evicted() { berth describe "$1-vm" 2>/dev/null | grep -q '^Reason: *Evicted'; }
available() { awk '/^(MemFree|Inactive\(file\)):/ { sum += $2 } END { print int(sum / 1024) }' /proc/meminfo; }
eat() { # MEBIBYTES PAUSE-IN-MICROSECONDS
  sed "s/HOLDS/$1/; s/PAUSE/$2/" /opt/berth/settings/eater.yaml >/tmp/eater.yaml
  berth apply -f /tmp/eater.yaml
}

check starts node_start /opt/berth/settings/eviction.yaml /berth-vm
berth apply -f /opt/berth/settings/eaters.yaml
check modest-runs wait_for 60 runs modest
check small-runs wait_for 60 runs small
check small-is-full wait_for 60 sh -c 'berth logs small-vm | grep -q ready'
before=$(pids)
echo "available: $(available) MiB"

# Soft: between the two thresholds for longer than the grace period; the pod is asked to end and gets its time.
eat $(($(available) - 90)) 20000
check soft-eater-goes wait_for 120 evicted eater
berth describe eater-vm
berth events | tail -n 12
check soft-met said 'EvictionThresholdMet.*Attempting to reclaim memory: memory.available is [0-9]+, threshold 115343360'
check soft-figures said 'Evicted.*pod/default/eater-vm .*low on resource: memory. Threshold quantity: 115343360, available: [0-9]+. The pod was using [0-9]+, request is 0, has larger consumption of memory'
check soft-asked-first wait_for 20 grep -rq "asked to end" /tmp/node/log/pods
check pressure-said said 'NodeHasMemoryPressure'
equal others-stay "$before" "$(pids)"
check soft-pressure-ends wait_for 60 said 'NodeHasNoMemoryPressure'
berth delete eater-vm
check soft-eater-leaves wait_for 30 gone eater

# Hard: far below at once.
eat $(($(available) - 40)) 2000
check hard-eater-goes wait_for 120 evicted eater
check hard-figures said 'Evicted.*pod/default/eater-vm .*Threshold quantity: (67108864|115343360), available: [0-9]+. The pod was using [0-9]+, request is 0'
berth events | tail -n 8
equal others-stay-again "$before" "$(pids)"
check nobody-was-killed-by-the-kernel sh -c '! dmesg | grep -q "Out of memory"'
berth delete eater-vm
check hard-eater-leaves wait_for 30 gone eater
check hard-pressure-ends wait_for 60 sh -c 'berth events | grep -o "NodeHas[A-Za-z]*MemoryPressure" | tail -n 1 | grep -q HasNo'

# Processes: the one with most of them goes; others wait to be admitted meanwhile.
processes=$(sed 's#.*/\([0-9]*\) .*#\1#' /proc/loadavg)
echo $((processes + 110)) >/proc/sys/kernel/threads-max
berth apply -f /opt/berth/settings/forker.yaml
check forker-goes wait_for 60 evicted forker
check pid-figures said 'Evicted.*pod/default/forker-vm .*low on resource: pids. Threshold quantity: 40, available: -?[0-9]+. The pod had [0-9]+ processes'
check pid-pressure-said said 'NodeHasPIDPressure'
berth apply -f /opt/berth/settings/spin.yaml
check next-one-waits wait_for 20 sh -c 'berth describe spin-vm | grep -q NodeUnderPressure'
check and-comes-in-later wait_for 60 runs spin
equal others-stay-to-the-end "$before" "$(pids | grep -F "$before")"
berth events
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(find /sys/fs/cgroup -mindepth 1 -type d)"
rm -rf /tmp/node
