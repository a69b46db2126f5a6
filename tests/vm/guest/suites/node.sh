# A node with berthd for a suite: start, stop, look. Sourced by suites.
export BERTH_SOCKET=/tmp/node/berth.sock

own_groups=berth # where berthd and the supervisors are, below the cgroup root

# node_start KUBELET-CONFIG CGROUP-ROOT [OPTION...]: starts berthd, or starts it again.
node_start() {
  mkdir -p /tmp/node/pods
  settings=$1 root=$2
  shift 2
  berthd --kubelet-config "$settings" --pod-dir /tmp/node/pods --state-dir /tmp/node/state --run-dir /tmp/node/run \
    --log-dir /tmp/node/log --socket "$BERTH_SOCKET" --node-name vm --cgroup-root "$root" --stop-containers \
    "$@" >>/tmp/node/berthd.log 2>&1 &
  node_pid=$!
  node_top=/sys/fs/cgroup/${root#/}
  node_top=${node_top%/}
  wait_for 30 answers
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
pids() { berth pods -o json | grep '"pid":' | sort; }

# Empty for a process that is gone.
allowed() { awk '/^Cpus_allowed_list/ {print $2}' "/proc/$1/status" 2>/dev/null; }
# The group of a container: "kubepods*/pod*/NAME".
group_of() { find "$node_top" -type d -path "*/kubepods/*" -name "$1"; }
# All processes that Berth started outside of DIR, and berthd.
others_than() { find "$node_top/kubepods" $(printf "$node_top/%s " $own_groups) -name cgroup.procs ! -path "$1/*" -exec cat {} + | sort -nu; }
kept_off() {
  for pid in $(others_than "$1"); do
    on=$(allowed "$pid")
    if [ -n "$on" ] && meets "$on" "$2"; then
      echo "process $pid ($(cat "/proc/$pid/comm")) may run on $on, $1 has $2"
      return 1
    fi
  done
}
