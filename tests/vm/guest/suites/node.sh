# A node with berthd for a suite: start, stop, look. Sourced by suites.
export BERTH_SOCKET=/tmp/node/berth.sock

own_groups=berth # where berthd and the supervisors are, below the cgroup root
node_options="--pod-dir /tmp/node/pods --state-dir /tmp/node/state --run-dir /tmp/node/run --log-dir /tmp/node/log
  --socket $BERTH_SOCKET --node-name vm"

# node_start KUBELET-CONFIG CGROUP-ROOT [OPTION...]: starts berthd, or starts it again.
node_start() {
  mkdir -p /tmp/node/pods
  settings=$1 root=$2
  shift 2
  berthd --kubelet-config "$settings" --cgroup-root "$root" $node_options --stop-containers "$@" >>/tmp/node/berthd.log 2>&1 &
  node_pid=$!
  node_names "${root#/}"
  wait_for 30 answers
}
# node_names CGROUP-ROOT: how the groups are called, by the driver that this guest needs.
node_names() {
  node_version=2 node_mount=/sys/fs/cgroup node_effective=cpuset.cpus.effective
  [ ! -d /sys/fs/cgroup/cpuset ] || node_version=1 node_mount=/sys/fs/cgroup/cpuset node_effective=cpuset.effective_cpus
  if [ -d /run/systemd/system ]; then
    slice=$(echo "$1" | tr - _)
    node_top=$node_mount${slice:+/$slice.slice}
    node_pods=$node_top/${slice:+$slice-}kubepods.slice
    node_own=$node_top/berth${slice:+-$slice}.scope
    node_tier() { echo "$node_pods/${slice:+$slice-}kubepods-$1.slice"; }
  else
    node_top=$node_mount${1:+/$1}
    node_pods=$node_top/kubepods
    node_own=$node_top/berth
    node_tier() { echo "$node_pods/$1"; }
  fi
}
node_own_groups() { if [ "$own_groups" = berth ]; then echo "$node_own"; else printf "$node_top/%s " $own_groups; fi; }
# All groups but those the guest had before any suite.
groups() { find /sys/fs/cgroup -mindepth 1 -type d | grep -vxF -f /tmp/groups_at_start; }
find /sys/fs/cgroup -mindepth 0 -type d >/tmp/groups_at_start
# After a failed case: the pods, what berthd said last, and where its threads are.
node_log() { tail -n 40 /tmp/node/berthd.log; }
evidence() {
  timeout 20 berth pods
  timeout 20 berth events | tail -n 20
  node_log
  for process in $(pidof berthd); do
    for thread in /proc/"$process"/task/*; do
      echo "$thread $(cat "$thread/comm" "$thread/wchan" | tr '\n' ' ')"
      cat "$thread/stack"
    done
  done
}
answers() { berth status >/dev/null 2>&1; }
node_stop() {
  kill -TERM "$node_pid"
  wait "$node_pid"
}
node_end() {
  node_stop
  echo "berthd ended with $?; its last words:"
  tail -15 /tmp/node/berthd.log
  rm -rf /tmp/node
}

# state POD: "phase container-state ..." e.g. "Running running"
state() { berth pods -o json | node_field "$1"; }
# node_field POD: from `berth pods -o json`, phase and the states of its containers.
node_field() {
  awk -v want="\"$1-vm\"" '
    /"name":/ { gsub(/[ ,]/, ""); sub(/"name":/, ""); pod = $0 == want ? 1 : (/-vm"$/ ? 0 : pod) }
    pod && /"(phase|state)":/ { gsub(/[",]/, ""); out = out " " $2 }
    END { print out }'
}
runs() { case "$(state "$1")" in *running*) true ;; *) false ;; esac; }
settled() { ! berth pods -o json | grep -q '"phase": *"Pending"'; }
gone() { pods=$(berth pods -o json) && ! echo "$pods" | grep -q "\"name\": *\"$1-vm\""; }
pids() { berth pods -o json | grep '"pid":' | sort -k 2n; }

# Empty for a process that is gone.
allowed() { awk '/^Cpus_allowed_list/ {print $2}' "/proc/$1/status" 2>/dev/null; }
# The group of a container: "kubepods*/pod*/NAME".
group_of() { find "$node_pods" -type d \( -name "$1" -o -name "berth-*-$1.scope" \); }
# All processes that Berth started outside of DIR, and berthd.
others_than() {
  find "$node_pods" $(node_own_groups) -name cgroup.procs ! -path "$1/*" -exec cat {} + | sort -nu
}
# kept_off GROUP CPUS: whether none of them may run on these. One program looks at them all: each takes its time here.
# It has to find berthd among them: who looks at nobody, or for no CPUs, finds nothing.
kept_off() {
  if [ -z "$2" ]; then
    echo "there are no CPUs to be kept off"
    return 1
  fi
  grep -H '^Cpus_allowed_list' /dev/null $(others_than "$1" | sed 's#.*#/proc/&/status#') >/tmp/allowed 2>/dev/null
  found=
  while read -r file on; do
    file=${file%/status:*}
    comm=gone
    read -r comm 2>/dev/null <"$file/comm"
    [ "$comm" != berthd ] || found=yes
    if meets "$on" "$2"; then
      echo "process ${file#/proc/} ($comm) may run on $on, $1 has $2"
      return 1
    fi
  done </tmp/allowed
  [ -n "$found" ] || echo "berthd is not among the processes looked at: $(cut -c 1-40 /tmp/allowed | tr '\n' ' ')"
  [ -n "$found" ]
}
