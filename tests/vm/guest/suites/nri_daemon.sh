# berthd beside a kubelet, as a plug-in of a real containerd with cgroup v2: the tests of the host, while two CPUs are online.
export BERTH_CONTAINERD=/usr/bin BERTH_IMAGES=/opt/berth/images.tar BERTH_CRI_ROUNDS="$(word nri_rounds)"
google_test berth_daemon_nri_test "$(word nri_seconds)" "$(word nri_tests)"
