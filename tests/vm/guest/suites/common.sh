# For the suites; sourced by init. Results go to descriptor 7, and to the console with the guest's second.
pass() {
  echo "pass $suite/$1" >&7
  say "$1"
}
# After the first two failed cases of a suite the console also gets what the suite's `evidence` prints of the guest's state.
fail() {
  echo "fail $suite/$1" >&7
  shift
  say "FAILED: $*"
  [ "$evidences" -ge 2 ] || evidence 2>&1 | sed 's/^/    /'
  evidences=$((evidences + 1))
}
say() {
  now
  echo "$now s: $*"
}
# Sets `now`, the seconds since the guest's start. Without a process: a suite asks often.
now() {
  read -r now _ </proc/uptime
  now=${now%.*}
}
# check NAME COMMAND...: one case.
check() {
  name=$1
  shift
  if "$@"; then pass "$name"; else fail "$name" "$name: $*"; fi
}
# equal NAME EXPECTED SEEN
equal() {
  if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "$1: expected '$2', saw '$3'"; fi
}
# wait_for SECONDS COMMAND...: looks again and again, with `pause` microseconds in between. Gives up after `patience` times as long:
# a host that is busy has a guest of its own speed.
pause=200000
patience=5
wait_for() {
  now
  end=$((now + $1 * patience))
  shift
  until "$@"; do
    now
    [ "$now" -lt "$end" ] || return 1
    usleep $pause
  done
}

# google_test PROGRAM SECONDS [FILTER]: each of its tests is a case. Skipping is failing: the guests are made to have it all.
google_test() {
  timeout -s KILL "$2" "$1" --gtest_color=no --gtest_filter="${3:-*}" >"/tmp/$suite.log" 2>&1
  status=$?
  cat "/tmp/$suite.log"
  sed -n "s#^\[       OK \] \([^ ,]*\).* ([0-9]* ms)#pass $suite/\1#p; s#^\[  FAILED  \] \([^ ,]*\).* ([0-9]* ms)#fail $suite/\1#p
    s#^\[  SKIPPED \] \([^ ,]*\).* ([0-9]* ms)#fail $suite/\1 (skipped)#p" "/tmp/$suite.log" >"/tmp/$suite.results"
  cat "/tmp/$suite.results" >&7
  if [ $status -ne 0 ] && ! grep -q '^fail' "/tmp/$suite.results"; then
    fail "whole" "$1 ended with status $status in $(grep '^\[ RUN' "/tmp/$suite.log" | tail -n 1)"
  fi
  [ -s "/tmp/$suite.results" ] || fail "nothing" "$1 ran no test"
}

# "0-2,5" -> lines 0 1 2 5
expand() (
  IFS=,
  for range in $1; do
    id=${range%-*}
    while [ "$id" -le "${range#*-}" ]; do
      echo "$id"
      id=$((id + 1))
    done
  done
)
# meets SET SET: whether they have a CPU in common.
meets() (
  others=$(expand "$2")
  for id in $(expand "$1"); do
    for other in $others; do [ "$id" != "$other" ] || exit 0; done
  done
  exit 1
)
differ() { ! meets "$1" "$2"; }
