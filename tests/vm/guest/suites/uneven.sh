# A machine whose nodes differ: huge pages and a PCI device on node 1 only, CPUs 6 and 7 not there, CPU 2 offline.
. /opt/berth/suites/node.sh

pages=/sys/devices/system/node/node
equal pages-of-node-0 0 "$(cat ${pages}0/hugepages/hugepages-2048kB/nr_hugepages)"
equal pages-of-node-1 16 "$(cat ${pages}1/hugepages/hugepages-2048kB/nr_hugepages)"
echo 0 >/sys/devices/system/cpu/cpu2/online
berth machine -o json >/tmp/machine.json
berth machine
equal online 0-1,3-5 "$(sed -n 's/^ *"online": "\(.*\)",*$/\1/p' /tmp/machine.json)"
near() { grep -l '^1$' /sys/bus/pci/devices/*/numa_node | sed 's#.*/\([^/]*\)/numa_node#\1#'; }
check device-behind-a-bus-of-node-1 [ -n "$(near)" ]
# place ADDRESS: node and CPUs that berth has for the device.
place() {
  awk -v want="\"$1\"," '/"address":/ { here = $2 == want } here && /"(node|localCpus)":/ { gsub(/"|,$/, ""); print $2 }' \
    /tmp/machine.json | xargs
}
for device in $(near); do equal "node-of-$device" "1 4-5" "$(place "$device")"; done
equal host-bridge-has-no-node "null 0-1,3-5" "$(place 0000:00:00.0)"

check starts node_start /opt/berth/settings/uneven.yaml /berth-vm
berth apply -f /opt/berth/settings/pages.yaml
check runs wait_for 60 runs pages
berth map
berth tree
group=$(group_of app)
equal memory-of-node-1 1 "$(cat "$group/cpuset.mems.effective")"
cpus=$(cat "$group/cpuset.cpus.effective")
check cpus-of-node-1 sh -c "case $cpus in 4|5) true ;; *) false ;; esac"
equal pages-limit 8388608 "$(cat "$group/hugetlb.2MB.max")"
equal pages-limit-of-the-pod 8388608 "$(cat "$(dirname "$group")/hugetlb.2MB.max")"
equal nothing-wrong 0 "$(berth tree --wrong >/dev/null 2>&1; echo $?)"
# The effective CPUs would not tell: from those the kernel itself takes what is offline.
pool=$(expand 0-1,3-5 | grep -vx "$cpus" | xargs)
equal pool-without-the-offline-one "$pool" "$(expand "$(cat "$node_own/cpuset.cpus")" | xargs)"
equal ledgers-pool-without-it "$pool" "$(expand "$(sed -n 's/.*"shared": *"\([^"]*\)".*/\1/p' /tmp/node/state/ledger)" | xargs)"
node_end
echo 1 >/sys/devices/system/cpu/cpu2/online
