# What ./run shows where systemd makes the groups.
groups_before=$(find /sys/fs/cgroup -mindepth 1 -type d | grep -i demo)
check shown sh -c "timeout 300 bash /opt/berth/tools/demo --once >/tmp/demo.out 2>&1"
cat /tmp/demo.out
check is-as-it-should-be bash /opt/berth/verify /tmp/demo.out
equal leaves-no-groups "$groups_before" "$(find /sys/fs/cgroup -mindepth 1 -type d | grep -i demo)"
