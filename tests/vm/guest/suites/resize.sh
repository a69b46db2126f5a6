# A busy pod that is given more and less again and again while it runs, beside busy neighbours: the same process, and
# nobody else is ever on its CPUs.
. /opt/berth/suites/node.sh

pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
limit_of() { cat "$1/$2"; }
is_limit() { [ "$(limit_of "$1" "$2")" = "$3" ]; }
count() { expand "$1" | wc -l; }
# sized CPUS: berthd says it is done, and the kernel has as many.
sized() {
  berth describe busy-vm | grep -q '^Resize:' && return 1
  [ "$(count "$(cat "$group/cpuset.cpus.effective")")" = "$1" ]
}
resize() { # CPUS MEMORY [OPTION...]
  cpus=$1 memory=$2
  shift 2
  berth resize busy-vm -c app --cpus "$cpus" --memory "$memory" "$@"
}

echo 16 >$pages
equal has-huge-pages 16 "$(cat $pages)"
check starts node_start /opt/berth/settings/spread.yaml /berth-vm
sed 's/memory: 16Mi}/memory: 16Mi, hugepages-2Mi: 4Mi}/' /opt/berth/settings/busy.yaml >/tmp/busy.yaml
berth apply -f /tmp/busy.yaml -f /opt/berth/settings/spin.yaml
check runs wait_for 60 runs busy
check neighbour-runs wait_for 60 runs neighbour
check pool-is-busy wait_for 60 runs spin
group=$(group_of app)
neighbour=$(group_of alone)
its_cpu=$(cat "$neighbour/cpuset.cpus.effective")
first=$(cat "$group/cpuset.cpus.effective")
process=$(pids)
equal two-cpus 2 "$(count "$first")"

done=0
while [ $done -lt $((rounds * 6)) ]; do
  for size in 3 5 2 4 3 2; do
    before=$(cat "$group/cpuset.cpus.effective")
    resize $size $((size * 8))Mi
    check "resize-$done-to-$size" wait_for 20 sized $size
    now=$(cat "$group/cpuset.cpus.effective")
    if [ $size -gt "$(count "$before")" ]; then few=$before many=$now; else few=$now many=$before; fi
    equal "resize-$done-keeps" "" "$(expand "$few" | grep -vxF "$(expand "$many")")"
    check "resize-$done-alone" kept_off "$group" "$now"
    equal "resize-$done-memory" $((size * 8 << 20)) "$(limit_of "$group" memory.max)"
    done=$((done + 1))
  done
done
equal has-what-it-began-with "$first" "$(cat "$group/cpuset.cpus.effective")"
equal neighbour-never-moved "$its_cpu" "$(cat "$neighbour/cpuset.cpus.effective")"
equal same-processes "$process" "$(pids)"

# In quick turns, without waiting for anything: nobody is on the neighbour's CPU at any look.
for size in 5 2 3; do
  resize $size 16Mi
  check "turn-$size" kept_off "$neighbour" "$its_cpu"
done
check settles wait_for 20 sized 3

check pages-before is_limit "$group" hugetlb.2MB.max 4194304
sed 's/cpu: 2, memory: 16Mi, hugepages-2Mi: 4Mi}/cpu: 3, memory: 16Mi, hugepages-2Mi: 8Mi}/' /tmp/busy.yaml >/tmp/more.yaml
berth apply -f /tmp/more.yaml
check more-pages wait_for 20 is_limit "$group" hugetlb.2MB.max 8388608
resize 64 16Mi
said() { berth events | grep -q "$1"; }
check too-many-is-refused wait_for 20 said ResizeInfeasible
equal stays-as-it-was 3 "$(count "$(cat "$group/cpuset.cpus.effective")")"
equal same-processes-at-the-end "$process" "$(pids)"
check nothing-was-called-a-repair sh -c "! berth events | grep CgroupRepaired >&2"
berth events | tail -n 20
echo 0 >$pages
node_stop
equal stops 0 $?
equal leaves-no-groups "" "$(groups)"
rm -rf /tmp/node
