# berthd.service under a real systemd: units and values, what a reload or somebody's 'systemctl set-property' does to
# them, kills, a systemd that does not answer, and what is left behind.
. /opt/berth/suites/node.sh
unset BERTH_SOCKET
node_names ""
settings=/etc/berth/kubelet.yaml
mkdir -p /etc/berth/pods
cp /opt/berth/examples/kubelet.yaml $settings
printf 'apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nkubeletConfig: kubelet.yaml\nnodeName: vm\n' >/etc/berth/berth.yaml
for program in berthd berth berth-shim; do ln -sf /opt/berth/bin/$program /usr/bin/; done
cp /opt/berth/packaging/berthd.service /etc/systemd/system/
systemctl daemon-reload

node_log() {
  journalctl -u berthd --no-pager -n 60
  systemctl list-jobs --no-pager
}

property() { systemctl show -P "$2" "$1"; }
is_active() { [ "$(property berthd.service ActiveState)" = active ]; }
main_pid() { property berthd.service MainPID; }
restarted() { [ "$(main_pid)" != "$1" ] && is_active && answers; }
value() { cat "$1/$2"; }
has() { [ "$(value "$1" "$2")" = "$3" ]; }
unit_of() { basename "$1"; }
said() { berth events 2>/dev/null | grep -q "$1"; }
# Every value of every group of Berth's.
values() {
  find "$node_pods" "$node_own" -type f \( -name 'cpuset.cpus*' -o -name 'cpuset.mems*' -o -name cpu.weight -o -name cpu.max \
    -o -name 'memory.m*' -o -name memory.low -o -name memory.high -o -name memory.swap.max -o -name memory.oom.group \
    -o -name pids.max -o -name 'hugetlb.*max' -o -name cgroup.subtree_control \) ! -name 'memory.m*.peak' \
    -exec grep -H '' {} + | sort
}
units() { systemctl list-units --all --plain --no-legend 'kubepods*' 'berth*.scope' | awk '{print $1}'; }

# ---- as a service ----
equal knows-its-driver systemd "$(berthd --check-config | sed -n 's/.*cgroup driver *//p')"
check starts systemctl start berthd
check is-active is_active
check answers wait_for 20 answers
check says-its-status sh -c "systemctl show -P StatusText berthd | grep -q 'shared pool'"
for pod in latency web batch; do berth apply -f /opt/berth/examples/pods/$pod.yaml; done
berth apply -f /opt/berth/settings/odd.yaml
for pod in latency web batch odd; do check $pod-runs wait_for 40 runs $pod; done
latency=$(group_of loop)
odd=$(find "$node_pods" -type d -name 'berth-*-app.scope' -exec grep -l '^1500 ' {}/cpu.max \; | xargs dirname)
uid=$(basename "$(dirname "$latency")" .slice | sed 's/.*-pod//')
cpus=$(value "$latency" cpuset.cpus.effective)
equal pod-is-called-as-the-kubelets "kubepods-pod$uid.slice" "$(basename "$(dirname "$latency")")"
check class-is-called-as-the-kubelets test -d "$node_pods/kubepods-besteffort.slice"
equal scope-is-in-its-slice "kubepods-pod$uid.slice" "$(property "$(unit_of "$latency")" Slice)"
equal scope-is-delegated yes "$(property "$(unit_of "$latency")" Delegate)"
equal systemd-knows-the-cpus "$cpus" "$(property "$(unit_of "$latency")" AllowedCPUs)"
equal systemd-knows-the-memory "$(value "$latency" memory.max)" "$(property "$(unit_of "$latency")" MemoryMax)"
pod=$(dirname "$latency")
equal systemd-knows-the-weight "$(value "$pod" cpu.weight)" "$(property "$(unit_of "$pod")" CPUWeight)"
equal systemd-knows-the-pool "$(value "$node_own" cpuset.cpus)" "$(property berth.scope AllowedCPUs)"
equal quota-is-exact "1500 100000" "$(value "$odd" cpu.max)"
check others-kept-off kept_off "$latency" "$cpus"
berth tree | head -12
check nothing-wrong wait_for 5 berth tree --wrong
check promises-are-kept berth state verify

# ---- what others do to units ----
# systemd has no property for the one, and rounds the other to hundredths of a CPU: Berth puts them back.
told() { values | grep -v -e /memory.oom.group: -e /cpu.max:; }
same_values() { [ "$before" = "$(values)" ]; }
before=$(values)
told_before=$(told)
systemctl daemon-reload
equal survives-daemon-reload "$told_before" "$(told)"
check exact-values-are-put-back-after-it wait_for 5 same_values
systemd-run --quiet --unit=other --slice=kubepods-burstable.slice sleep 600
systemd-run --quiet --unit=other2 sleep 600
equal survives-other-units "$told_before" "$(told | grep -v /other)"
systemctl stop other other2
systemctl set-property --runtime "$(unit_of "$latency")" IOWeight=50
check survives-a-property-of-its-unit wait_for 5 same_values
systemctl set-property --runtime kubepods.slice IOWeight=50
check survives-a-property-of-the-slice wait_for 5 same_values
systemctl set-property --runtime "$(unit_of "$odd")" IOWeight=50
check exact-quota-is-put-back wait_for 5 has "$odd" cpu.max "1500 100000"
systemctl set-property --runtime "$(unit_of "$odd")" MemoryMax=16M CPUWeight=77
check memory-is-put-back wait_for 5 has "$odd" memory.max 33554432
check weight-is-put-back wait_for 5 has "$odd" cpu.weight 5
pool=$(value "$node_own" cpuset.cpus)
systemctl set-property --runtime "$(unit_of "$latency")" AllowedCPUs="$pool"
check cpus-are-put-back wait_for 5 has "$latency" cpuset.cpus "$cpus"
equal and-systemd-knows-them "$cpus" "$(property "$(unit_of "$latency")" AllowedCPUs)"
# CPUs the pod does not have take no effect.
systemctl set-property --runtime "$(unit_of "$odd")" AllowedCPUs="$cpus"
equal cpus-of-others-take-no-effect "$pool" "$(value "$odd" cpuset.cpus.effective)"
check others-kept-off-after-that kept_off "$latency" "$cpus"
systemctl set-property --runtime "$(unit_of "$odd")" AllowedCPUs="$pool"
check all-values-are-as-before wait_for 5 same_values
berth events | tail -8

# ---- nothing changes: nothing is said ----
writes() { berth status -o json | sed -n 's/.*"cgroupWrites": *\([0-9]*\).*/\1/p'; }
at=$(writes)
sleep 12 # more than reconcilePeriod
equal idle-writes-nothing "$at" "$(writes)"

# ---- berthd.service ----
running=$(pids)
first=$(main_pid)
systemctl reload berthd
check reloads wait_for 10 said Reloaded
equal reload-keeps-the-process "$first" "$(main_pid)"
for round in 1 2; do
  killed=$(main_pid)
  kill -KILL "$killed"
  check killed-$round-is-started-again wait_for 30 restarted "$killed"
  equal killed-$round-same-processes "$running" "$(pids)"
  equal killed-$round-same-cpus "$cpus" "$(value "$latency" cpuset.cpus.effective)"
  check killed-$round-others-kept-off kept_off "$latency" "$cpus"
done
mkdir -p /run/systemd/system/berthd.service.d
printf '[Service]\nWatchdogSec=3\n' >/run/systemd/system/berthd.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart berthd
check answers-again wait_for 20 answers
stopped=$(main_pid)
kill -STOP "$stopped"
check watchdog-starts-it-again wait_for 40 restarted "$stopped"
equal watchdog-same-processes "$running" "$(pids)"
rm -r /run/systemd/system/berthd.service.d
systemctl daemon-reload
systemctl stop berthd
equal stopped-containers-go-on "$cpus" "$(value "$latency" cpuset.cpus.effective)"
check stopped-processes-go-on test -n "$(value "$latency" cgroup.procs)"
systemctl start berthd
check started-again wait_for 20 answers
equal started-same-processes "$running" "$(pids)"

# ---- systemd that is busy, gone, or reached another way ----
systemctl daemon-reexec &
berth delete odd-vm
berth apply -f /opt/berth/settings/odd.yaml
check runs-despite-daemon-reexec wait_for 40 runs odd
wait
last=$(main_pid)
mv /run/systemd/private /run/systemd/private.away
systemctl start dbus
berth delete odd-vm
check odd-goes wait_for 30 gone odd
berth apply -f /opt/berth/settings/odd.yaml
check runs-through-the-bus wait_for 40 runs odd
berth delete odd-vm
check odd-goes-again wait_for 30 gone odd
mv /run/dbus/system_bus_socket /run/dbus/system_bus_socket.away
berth apply -f /opt/berth/settings/odd.yaml
check nobody-there-is-said wait_for 40 said "there is no connection to systemd"
check still-answers-meanwhile answers
check still-the-same kill -0 "$last"
mv /run/dbus/system_bus_socket.away /run/dbus/system_bus_socket
mv /run/systemd/private.away /run/systemd/private
check runs-when-systemd-is-back wait_for 60 runs odd
check others-kept-off-at-the-end kept_off "$latency" "$cpus"

# ---- nothing is left behind ----
for pod in latency web batch odd; do berth delete $pod-vm; done
for pod in latency web batch odd; do check $pod-goes wait_for 40 gone $pod; done
systemctl stop berthd
equal stops-well success "$(property berthd.service Result)"
equal leaves-no-units "" "$(units)"
equal leaves-no-groups "" "$(groups | grep -v -e /system.slice -e /init.scope)"
equal leaves-no-processes "" "$(pidof berthd berth-shim)"
equal leaves-nothing-failed "" "$(systemctl list-units --failed --plain --no-legend)"
equal leaves-no-transient-files "" "$(find /run/systemd/transient /run/systemd/system.control 2>/dev/null | grep -e kubepods -e 'berth.*scope')"

# ---- a node that ran under the kubelet with containerd ----
kube=kubepods-burstable-pod1a2b3c4d_0000_1111_2222_333344445555.slice
cri=cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope
systemctl daemon-reload # it still remembers files of transient slices that are gone
systemd-run --quiet --scope --unit=$cri --slice=$kube -p Delegate=yes sleep 3600 &
theirs=$node_pods/kubepods-burstable.slice/$kube/$cri
check theirs-is-there wait_for 20 test -d "$theirs"
rm -rf /var/lib/berth
printf 'unknownPods: adopt\nreconcilePeriod: 1s\n' >>/etc/berth/berth.yaml
systemctl start berthd
check adopts wait_for 20 answers
berth apply -f /opt/berth/examples/pods/latency.yaml
check latency-runs-beside-it wait_for 40 runs latency
latency=$(group_of loop)
cpus=$(value "$latency" cpuset.cpus.effective)
kept() { differ "$(value "$theirs" cpuset.cpus.effective)" "$cpus"; }
check theirs-is-kept-off wait_for 20 kept
equal theirs-is-told "$(value "$theirs" cpuset.cpus)" "$(property $cri AllowedCPUs)"
systemctl daemon-reload
check theirs-is-kept-off-after-a-reload kept
berth events | tail -12
kill "$(value "$theirs" cgroup.procs)"
wait
berth delete latency-vm
check latency-goes-at-last wait_for 40 gone latency
systemctl stop berthd

# ---- contradictions ----
echo 'cgroupDriver: cgroupfs' >>$settings
contradiction=$(berthd --check-config 2>&1)
equal contradiction-is-refused 1 $?
echo "$contradiction"
check contradiction-has-the-cure sh -c "echo \"$contradiction\" | grep -q \"set 'cgroupDriver: systemd' or leave it out\""
systemctl start berthd
check contradiction-fails-the-start sh -c "! systemctl is-active --quiet berthd"
systemctl stop berthd
systemctl reset-failed
rm -f /usr/bin/berthd /usr/bin/berth /usr/bin/berth-shim
rm -rf /etc/berth /var/lib/berth /var/log/berth /run/berth
export BERTH_SOCKET=/tmp/node/berth.sock
