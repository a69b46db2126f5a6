# What a change of the shared pool costs, with up to 500 containers: counts for docs/design/cgroups.md.
# Not once more with 500 that come back: making their groups alone takes half a minute here.
google_test berth_cgroup_example_test 300 '*CgroupPoolTest*-*ComesBack/3'
