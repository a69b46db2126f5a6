# CPUs that share a third-level cache: what berth makes of the kernel's files, and containers that keep within a group.
. /opt/berth/suites/node.sh
group_of_cpu() { cat "/sys/devices/system/cpu/cpu$1/cache/index3/shared_cpu_list"; }
all_groups() { for cpu in $(seq 0 15); do group_of_cpu "$cpu"; done | sort -u; }
berth machine
all_groups
equal kernel-has-eight-groups 8 "$(all_groups | wc -l)"
equal two-in-each-node "0-1 2-3" "$(for cpu in $(expand "$(cat /sys/devices/system/node/node0/cpulist)"); do group_of_cpu "$cpu"; done | sort -u | xargs)"
ids() { berth machine -o json | awk '/"uncoreCaches"/ { want = 1 } want && /"id"/ { print $2; want = 0 }'; }
equal berth-sees-eight 8 "$(ids | sort -u | wc -l)"

check starts node_start /opt/berth/settings/l3.yaml /berth-vm
berth apply -f /opt/berth/settings/l3-pods.yaml
check runs wait_for 60 runs pair-a
berth map
for name in a b c d; do
  cpus=$(cat "$(group_of $name)/cpuset.cpus.effective")
  equal "within-a-group-$name" "$(group_of_cpu "${cpus%%[-,]*}")" "$cpus"
done
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(find /sys/fs/cgroup -mindepth 1 -type d)"
rm -rf /tmp/node
