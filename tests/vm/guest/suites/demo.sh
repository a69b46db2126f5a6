# What ./run shows where systemd makes the groups: pods as processes, and as containers.
export BERTH_CONTAINERD=/usr/bin BERTH_IMAGES=/opt/berth/images.tar
groups_before=$(find /sys/fs/cgroup -mindepth 1 -type d | grep -i demo)
for how in processes cri; do
  options=--once
  [ $how = processes ] || options='--once --cri'
  check $how-shown sh -c "timeout 200 bash /opt/berth/tools/demo $options >/tmp/demo.out 2>&1"
  cat /tmp/demo.out
  check $how-is-as-it-should-be bash /opt/berth/verify /tmp/demo.out
  equal $how-leaves-no-groups "$groups_before" "$(find /sys/fs/cgroup -mindepth 1 -type d | grep -i demo)"
done
