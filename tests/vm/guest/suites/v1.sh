# From here on this guest has cgroup v1: a hierarchy for each controller, as older hosts have them.
umount /sys/fs/cgroup
mount -t tmpfs cgroup /sys/fs/cgroup
for controller in cpuset cpu memory pids hugetlb; do
  mkdir /sys/fs/cgroup/$controller
  check $controller mount -t cgroup -o $controller cgroup /sys/fs/cgroup/$controller
done
