# Pods on a real containerd with cgroup v2, sixteen CPUs and four nodes.
for cpu in /sys/devices/system/cpu/cpu*/online; do echo 1 >"$cpu"; done
equal all-cpus 0-15 "$(cat /sys/fs/cgroup/cpuset.cpus.effective)"
. /opt/berth/suites/node.sh
pause=1000000 # each look costs a program's start, containers take their time

export BERTH_CONTAINERD=/usr/bin
runtime=/tmp/runtime
ctr_here() { ctr -a $runtime/containerd.sock -n k8s.io "$@"; }
runtime_answers() { ctr_here version >/dev/null 2>&1; }
runtime_start() {
  bash /opt/berth/tools/private_containerd $runtime >>/tmp/containerd.log 2>&1 &
  runtime_pid=$!
  wait_for 60 runtime_answers
}
berth_start() {
  node_start /opt/berth/settings/cri.yaml /berth-vm --config /opt/berth/settings/cri-berth.yaml \
    --runtime-endpoint unix://$runtime/containerd.sock
}
mounts_at_start=$(wc -l </proc/mounts)
check runtime-starts runtime_start
check images-are-known ctr_here images import /opt/berth/images.tar
check starts berth_start
main_of() { # POD: its process
  berth pods -o json | awk -v want="\"$1-vm\"" '/"name":/ { if (/-vm"/) pod = index($0, want) } pod && /"pid":/ { gsub(/[^0-9]/, ""); print; exit }'
}
group_of_pod() { echo "/sys/fs/cgroup$(cut -d: -f3 "/proc/$(main_of "$1")/cgroup")"; }
cp /opt/berth/settings/cri-shared.yaml /tmp/node/pods/
for pod in best burst guar; do check $pod-runs wait_for 120 runs $pod; done

# What CRI has a word for, and what it takes as files of cgroup v2: memory.high is the request and nine tenths of the way
# from there to the limit.
group=$(group_of_pod burst)
equal burst-memory 67108864 "$(cat "$group/memory.max")"
equal burst-memory-high 62074880 "$(cat "$group/memory.high")"
equal burst-weight 17 "$(cat "$group/cpu.weight")"
equal burst-ends-as-a-whole 1 "$(cat "$group/memory.oom.group")"
equal guar-quota "150000 100000" "$(cat "$(group_of_pod guar)/cpu.max")"

# A node's CPUs and memory.
cp /opt/berth/settings/cri-pinned.yaml /tmp/node/pods/
check pinned-runs wait_for 120 runs pinned
check pinned-is-ready wait_for 60 sh -c 'berth logs pinned-vm | grep -q ready'
group=$(group_of_pod pinned)
cpus=$(cat "$group/cpuset.cpus.effective")
mems=$(cat "$group/cpuset.mems.effective")
equal one-node 1 "$(expand "$mems" | wc -l)"
equal cpus-of-the-node "$(cat "/sys/devices/system/node/node$mems/cpulist")" "$cpus"
main=$(main_of pinned)
equal allowed "$cpus" "$(allowed "$main")"
equal heap-of-the-node "N$mems" "$(grep -w heap "/proc/$main/numa_maps" | tr ' ' '\n' | sed -n 's/^\(N[0-9]*\)=.*/\1/p' | sort -u)"
equal charged-to-the-node "N$mems" "$(grep '^anon ' "$group/memory.numa_stat" | tr ' ' '\n' | sed -n 's/^\(N[0-9]*\)=[1-9][0-9]*$/\1/p')"
# Sandboxes have been moved off it by now.
pod_group=$(dirname "$group")
check others-kept-off wait_for 10 kept_off "$pod_group" "$cpus"

# Restarts move nothing.
before=$(pids)
kill -KILL $node_pid
wait $node_pid
check berthd-starts-again berth_start
equal berthd-same-processes "$before" "$(pids)"
kill -KILL $runtime_pid
wait $runtime_pid
check runtime-starts-again runtime_start
again() { berth events | grep -q 'answers again'; }
check runtime-is-found-again wait_for 60 again
equal runtime-same-processes "$before" "$(pids)"
equal pinned-same-cpus "$cpus" "$(cat "$group/cpuset.cpus.effective")"
rm /tmp/node/pods/cri-pinned.yaml
check pinned-is-gone wait_for 120 gone pinned

# Four at a time with three CPUs of a node each; each looks, as its first act, who may run on its CPUs. runc copies itself
# into the memory of what it starts: 16 MiB are little for that, under emulation.
batch() { # NUMBER
  for i in 1 2 3 4; do
    cat <<END
---
apiVersion: v1
kind: Pod
metadata: {name: probe-$1-$i}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  volumes: [{name: proc, hostPath: {path: /proc}}, {name: probe, hostPath: {path: /opt/berth/tests/overlap_probe}}]
  containers:
  - name: app
    image: localhost/berth/busybox:1
    command: [/overlap_probe, /hostproc, /berth-vm]
    securityContext: {privileged: true} # in the host's cgroup namespace: the probe sees which groups there are
    volumeMounts: [{name: proc, mountPath: /hostproc, readOnly: true}, {name: probe, mountPath: /overlap_probe, readOnly: true}]
    resources: {limits: {cpu: 3, memory: 64Mi}}
END
  done
}
words_of() { cat /tmp/node/log/pods/*_probe-"$1"-*/app/0.log 2>/dev/null; }
all_looked() { [ "$(words_of "$1" | grep -cE ' overlaps | saw not ')" -eq "$2" ]; }
# clean_starts ROUND: how many had three CPUs and met nobody.
clean_starts() {
  words_of "$1" | sed -n 's/.* cpus \([0-9,-]*\) overlaps 0$/\1/p' | while read -r cpus; do
    [ "$(expand "$cpus" | wc -l)" -ne 3 ] || echo "$cpus"
  done | wc -l
}
batch_gone() { pods=$(berth pods -o json) && ! echo "$pods" | grep -q "\"probe-$1-"; }
# A runtime that stands still now and then: every second round.
stutter() {
  while :; do
    usleep 700000
    kill -STOP $runtime_pid
    usleep 500000
    kill -CONT $runtime_pid
  done
}
rounds=$(word cri_rounds)
round=0 clean=0
now
began=$now
while [ $round -lt "$rounds" ]; do
  round=$((round + 1))
  stutter=
  if [ $((round % 2)) -eq 0 ]; then
    stutter &
    stutter=$!
  fi
  batch $round >/tmp/node/pods/probes.yaml
  wait_for 200 all_looked $round 4
  looked=$?
  if [ -n "$stutter" ]; then
    kill $stutter
    wait $stutter
    kill -CONT $runtime_pid
  fi
  words_of $round
  [ $looked -eq 0 ] || break
  clean=$((clean + $(clean_starts $round)))
  rm /tmp/node/pods/probes.yaml
  wait_for 120 batch_gone $round || break
done
now
echo "$round rounds, $clean starts without an overlap in $((now - began)) s"
equal no-overlap $((4 * rounds)) "$clean"

check keeps-its-promises berth state verify
rm /tmp/node/pods/*.yaml
for pod in best burst guar; do check $pod-is-gone wait_for 120 gone $pod; done
equal ledger-is-empty "" "$(berth state show --state-dir /tmp/node/state | grep -E 'probe|pinned|best|burst|guar')"
equal no-containers "" "$(ctr_here containers ls -q)"
equal no-tasks "" "$(ctr_here tasks ls -q)"
no_shims() { ! cat /proc/[0-9]*/comm 2>/dev/null | grep -q containerd-shim; }
check no-shims wait_for 10 no_shims
equal no-mounts "$mounts_at_start" "$(wc -l </proc/mounts)"
node_stop
equal stops 0 $?
kill -TERM $runtime_pid
wait $runtime_pid
equal leaves-no-groups "" "$(groups)"
cat /tmp/node/berthd.log
grep -vE "level=(info|debug)" /tmp/containerd.log
rm -rf /tmp/node $runtime
pause=200000
