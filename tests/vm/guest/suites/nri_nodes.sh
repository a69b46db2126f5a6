# The same with all CPUs, on each of which there is a NUMA node to keep to.
for cpu in /sys/devices/system/cpu/cpu*/online; do echo 1 >"$cpu"; done
export BERTH_CONTAINERD=/usr/bin BERTH_IMAGES=/opt/berth/images.tar BERTH_CRI_ROUNDS="$(word nri_rounds)"
google_test berth_daemon_nri_test "$(word nri_seconds)" "NriManyNodesTest.*"
