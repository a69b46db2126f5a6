# Cores of two kinds, as on Intel's hybrid processors. QEMU emulates none: all its CPUs are of one kind, it has no counters
# (the kernel's files for the kinds are those of its counters), and no CPU tells another capacity. So the two files are
# put where the kernel has them, for the rest of this suite, and everything else is the guest's own.
. /opt/berth/suites/node.sh
# kinds: "kind threads" of each core, as berth has them.
kinds() {
  berth machine -o json | awk '/"threads":/ { want = 1; ids = "" } want && /^ *[0-9]+,?$/ { gsub(/[ ,]/, ""); ids = ids "," $0 }
    /"kind":/ { gsub(/[",]/, ""); print $2, substr(ids, 2); want = 0 }' | sort | xargs
}
berth machine -o json | sed -n '/"cores"/,/"kind"/p' | head -n 20
equal all-alike-at-first "uniform 0,1 uniform 2,3 uniform 4,5 uniform 6,7" "$(kinds)"

mkdir /tmp/devices
mount --bind /sys/devices /tmp/devices
mount -t tmpfs devices /sys/devices
for name in /tmp/devices/*; do ln -s "$name" /sys/devices/; done
mkdir /sys/devices/cpu_core /sys/devices/cpu_atom
echo 0-3 >/sys/devices/cpu_core/cpus
echo 4-7 >/sys/devices/cpu_atom/cpus
berth machine
equal kinds "efficiency 4,5 efficiency 6,7 performance 0,1 performance 2,3" "$(kinds)"
check capture-has-the-kinds sh -c 'berth machine --capture /tmp/hybrid.tar.gz && berth machine -m /tmp/hybrid.tar.gz -o json | grep -q efficiency'
check starts node_start /opt/berth/settings/numa.yaml /berth-vm
berth apply -f /opt/berth/settings/busy.yaml
check runs wait_for 60 runs busy
berth map
group=$(group_of app)
cpus=$(cat "$group/cpuset.cpus.effective")
equal two-of-its-own 2 "$(expand "$cpus" | wc -l)"
check others-kept-off kept_off "$group" "$cpus"
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(groups)"
umount /sys/devices
umount /tmp/devices
equal all-alike-again "uniform 0,1 uniform 2,3 uniform 4,5 uniform 6,7" "$(kinds)"
rm -rf /tmp/node
