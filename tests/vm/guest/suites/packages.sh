# The Debian packages under a real systemd: installed and running, upgraded while pods run, removed, purged.
# What they depend on is in the guest without packages, so dpkg is told not to mind; tests/packages has that.
. /opt/berth/suites/node.sh
unset BERTH_SOCKET
was=$PATH
PATH=/usr/bin:/usr/sbin:/opt/berth/busybox  # what is installed, not what is tested elsewhere
node_names ""
echo vm >/proc/sys/kernel/hostname
mkdir -p /var/lib/dpkg/info
: >/var/lib/dpkg/status
packages() { DEBIAN_FRONTEND=noninteractive dpkg --force-depends "$@"; }
property() { systemctl show -P "$2" "$1"; }
main_pid() { property berthd.service MainPID; }
named_berth() { find / -xdev -name '*berth*' ! -path '/opt/*' ! -path '/tmp/*' ! -path "$(cat /opt/berth/built_at)/*" ! -path '/proc/*' ! -path '/sys/*' ! -name 'berth-suites*' | sort; }
named_berth >/tmp/named_before
units() { systemctl list-units --all --plain --no-legend 'kubepods*' 'berth*.scope' | awk '{print $1}'; }
run_pods() {
  for pod in latency web; do berth apply -f /opt/berth/examples/pods/$pod.yaml; done
  for pod in latency web; do check $pod-runs-$1 wait_for 40 runs $pod; done
}

# ---- installed: it runs ----
check installs packages -i /opt/berth/packages/before/*.deb
equal is-enabled enabled "$(systemctl is-enabled berthd)"
check answers wait_for 20 answers
equal its-socket-is-the-groups "berth 660" "$(stat -c '%G %a' /run/berth/berth.sock)"
check has-its-settings grep -q '^  cpu: 500m' /etc/berth/kubelet.yaml
run_pods installed
all_run() { [ "$(pids | wc -l)" = 3 ]; }  # of web its sidecar too
check all-have-started wait_for 40 all_run
running=$(pids)
latency=$(group_of loop)
cpus=$(cat "$latency/cpuset.cpus.effective")
equal pod-is-off-the-first-cpu 1 "$cpus"
echo '# mine' >>/etc/berth/berth.yaml

# ---- upgraded: pods are not touched ----
first=$(main_pid)
check upgrades packages -i /opt/berth/packages/after/*.deb
check answers-after-the-upgrade wait_for 20 answers
check another-berthd-runs test "$first" != "$(main_pid)"
equal upgraded-same-processes "$running" "$(pids)"
equal upgraded-same-cpus "$cpus" "$(cat "$latency/cpuset.cpus.effective")"
check upgraded-others-kept-off kept_off "$latency" "$cpus"
equal own-settings-are-kept '# mine' "$(tail -n 1 /etc/berth/berth.yaml)"

# ---- under its AppArmor profile, enforced ----
apparmor=/sys/kernel/security/apparmor
mountpoint -q /sys/kernel/security || mount -t securityfs securityfs /sys/kernel/security
cat /opt/berth/packages/apparmor >$apparmor/.load
berth delete web-vm
check web-goes wait_for 30 gone web
running=$(pids)
systemctl restart berthd
check answers-enforced wait_for 20 answers
equal is-enforced "berthd (enforce)" "$(cat /proc/$(main_pid)/attr/current)"
equal enforced-same-processes "$running" "$(pids)"
berth apply -f /opt/berth/examples/pods/web.yaml
check web-runs-enforced wait_for 40 runs web
check enforced-others-kept-off kept_off "$latency" "$cpus"
equal containers-are-not-in-it unconfined "$(cat /proc/$(head -n 1 "$latency/cgroup.procs")/attr/current)"
check log-enforced sh -c "berth logs latency-vm | grep -q ."
dmesg | grep apparmor= | tail -n 20
equal nothing-was-denied "" "$(dmesg | grep 'apparmor="DENIED"')"

# ---- removed: nothing runs, settings stay ----
check is-removed packages -r berthd
equal removed-leaves-no-processes "" "$(pidof berthd berth-shim)"
equal removed-leaves-no-groups "" "$(groups | grep -v -e /system.slice -e /init.scope)"
equal removed-leaves-no-units "" "$(units)"
equal removed-keeps-settings '# mine' "$(tail -n 1 /etc/berth/berth.yaml)"

# ---- purged: nothing is left ----
check is-purged packages -P berthd berth
equal purged-leaves-no-files "" "$(named_berth | grep -vxF -f /tmp/named_before)"
check purged-leaves-no-group sh -c '! getent group berth'
echo -n berthd >$apparmor/.remove
equal purged-leaves-nothing-failed "" "$(systemctl list-units --failed --plain --no-legend)"
export BERTH_SOCKET=/tmp/node/berth.sock
PATH=$was
