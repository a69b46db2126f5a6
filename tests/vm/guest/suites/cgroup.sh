google_test berth_cgroup_integration_test 150
google_test berth_cgroup_example_test 150 '-*CgroupPoolTest*'
