# What berth reads of this machine goes to the host, which knows what it built.
berth machine
check describes sh -c 'berth machine -o json >/tmp/out/machine.json'
check captures berth machine --capture /tmp/out/capture.tar.gz
cat /sys/devices/system/node/node*/meminfo >/tmp/out/meminfo
