# The programs of tests/integration on a real containerd with cgroup v2, while two CPUs are online.
export BERTH_CONTAINERD=/usr/bin BERTH_IMAGES=/opt/berth/images.tar
google_test berth_newer_containerd_test 300 "*"
google_test berth_daemon_cri_test "$(word cri_seconds)" "$(word cri_tests)"
