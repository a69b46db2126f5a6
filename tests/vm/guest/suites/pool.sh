# What a change of the shared pool costs, with up to 500 containers: counts for docs/design/cgroups.md.
google_test berth_cgroup_example_test 300 '*CgroupPoolTest*'
