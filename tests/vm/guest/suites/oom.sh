# Memory that runs out under berthd.service: a container's, berthd's own, and berthd's again and again for one manifest.
# Somebody dies each time; everybody else goes on, and berthd comes back.
. /opt/berth/suites/node.sh
unset BERTH_SOCKET
node_names ""
rm -rf /var/lib/berth /run/berth /etc/berth
mkdir -p /etc/berth/pods
cp /opt/berth/examples/kubelet.yaml /etc/berth/kubelet.yaml
printf 'apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nkubeletConfig: kubelet.yaml\nnodeName: vm\n' >/etc/berth/berth.yaml
for program in berthd berth berth-shim; do ln -sf /opt/berth/bin/$program /usr/bin/; done
cp /opt/berth/packaging/berthd.service /etc/systemd/system/
systemctl daemon-reload

property() { systemctl show -P "$2" "$1"; }
main_pid() { property berthd.service MainPID; }
restarted() { [ "$(main_pid)" != "$1" ] && [ "$(property berthd.service ActiveState)" = active ] && answers; }
said() { berth events 2>/dev/null | grep -q "$1"; }
kills() { sed -n 's/^oom_kill //p' "$1/memory.events"; }
more_kills() { [ "$(kills "$1")" -gt "$2" ]; }

check starts systemctl start berthd
check answers wait_for 20 answers
for pod in latency web; do berth apply -f /opt/berth/examples/pods/$pod.yaml; done
for pod in latency web; do check $pod-runs wait_for 40 runs $pod; done
all_run() { [ "$(pids | wc -l)" = 3 ]; }  # of web its sidecar too
check all-have-started wait_for 40 all_run
latency=$(group_of loop)
cpus=$(cat "$latency/cpuset.cpus.effective")
running=$(pids)
first=$(main_pid)
group=/sys/fs/cgroup$(sed -n 's/^0:://p' "/proc/$first/cgroup")
as_before() { [ "$running" = "$(pids)" ] && [ "$cpus" = "$(cat "$latency/cpuset.cpus.effective")" ]; }

# ---- a container eats more than its limit ----
berth apply -f - <<END
apiVersion: v1
kind: Pod
metadata: {name: glutton}
spec:
  restartPolicy: Always
  containers:
  - name: app
    command: [/bin/sh, -c, "awk 'BEGIN { s = \"x\"; while (length(s) < 1048576) s = s s; for (;;) held[i++] = s i }'"]
    resources: {limits: {memory: 16Mi}}
END
check glutton-is-killed wait_for 120 said OOMKilled
check glutton-is-tried-again wait_for 60 said BackOff
equal glutton-harms-nobody "$running" "$(pids | grep -F "$running")"
equal glutton-leaves-berthd "$first" "$(main_pid)"
berth delete glutton-vm
check glutton-goes wait_for 40 gone glutton

# ---- berthd's own memory, for something that passes ----
# Entries that are read one by one: of the second document there are too many, while the first one is held.
for entries in 60000 65000; do
  printf -- '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: heavy-%s}\ndata:\n' $entries
  seq $entries | sed 's/.*/  k&: v/'
done >/etc/berth/heavy
kib() { sed -n "s/^$1:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/$(main_pid)/status"; }
usual=$(kib VmHWM) # at most, with all its pods, which it has started
cp /etc/berth/heavy /etc/berth/pods/heavy.yaml
check the-heavy-manifest-is-read wait_for 60 said "heavy.yaml.*too many"
heavy=$(($(kib VmHWM) - usual))
rm /etc/berth/pods/heavy.yaml
echo "berthd takes $usual KiB at most, and $heavy KiB more for the heavy manifest"
# limit CASE: beside what berthd takes at most, however much of that it has by now, a half of what the manifest takes is left: for
# the processes that it starts, which are in its group at first. The other half has to be more than what it has not got yet: it may
# read the manifest before it takes that.
limit() {
  free=$((usual - $(kib VmRSS)))
  [ $free -gt 0 ] || free=0
  check "$1" [ $((heavy / 2)) -gt $free ]
  echo 0 >"$group/memory.swap.max"
  echo $(($(cat "$group/memory.current") + (free + heavy / 2) * 1024)) >"$group/memory.max"
}
no_limit() { echo max >"$group/memory.max"; }
check starts-without-what-it-kept-of-it systemctl restart berthd
check answers-anew wait_for 60 answers
check knows-its-pods-anew wait_for 60 as_before
limit memory-is-short
killed=$(main_pid)
before=$(kills "$group")
cp /etc/berth/heavy /etc/berth/pods/heavy.yaml
check berthd-is-killed-for-its-memory wait_for 60 more_kills "$group" "$before"
no_limit
check and-started-again wait_for 60 restarted "$killed"
check pods-live-on as_before
check others-kept-off kept_off "$latency" "$cpus"
check and-is-well wait_for 60 sh -c 'berth tree --wrong && berth state verify'
rm /etc/berth/pods/heavy.yaml

# ---- a manifest that it dies of each time ----
# The memory stays short, counted from a berthd that has read nothing heavy yet.
check starts-afresh systemctl restart berthd
check answers-again wait_for 60 answers
check knows-its-pods wait_for 60 as_before
before=$(kills "$group")
limit memory-is-short-again
cp /etc/berth/heavy /etc/berth/pods/again.yaml
check dies-of-it-twice wait_for 120 more_kills "$group" $((before + 1))
check and-sets-it-aside wait_for 120 said "again.yaml.*set aside"
equal memory-is-still-short yes "$([ "$(cat "$group/memory.max")" = max ] || echo yes)"
aside=$(main_pid)
check pods-live-on-again as_before
berth events | tail -12
berth apply -f /opt/berth/examples/pods/batch.yaml
check others-are-started-beside-it wait_for 60 runs batch
berth delete batch-vm
check and-end-beside-it wait_for 60 gone batch
equal and-it-does-not-die-any-more "$aside" "$(main_pid)"
check others-kept-off-again kept_off "$latency" "$cpus"
no_limit

# ---- nothing is left behind ----
rm -f /etc/berth/pods/again.yaml
for pod in latency web; do berth delete $pod-vm; done
for pod in latency web; do check $pod-goes wait_for 60 gone $pod; done
systemctl stop berthd
equal stops-well success "$(property berthd.service Result)"
equal leaves-no-groups "" "$(groups | grep -v -e /system.slice -e /init.scope)"
equal leaves-no-processes "" "$(pidof berthd berth-shim)"
rm -rf /etc/berth /var/lib/berth
