# What a guest does once its file systems are mounted: runs the suites named on the kernel's command line (or a shell),
# sends what they left for the host, and ends the guest. Run by init, or by systemd as berth-suites.service.
#
# Console: /dev/ttyS0. Results: /dev/ttyS1, a line each, "pass NAME" or "fail NAME", at last "end". Files for the host:
# /dev/ttyS2, a tar stream of /tmp/out.
export PATH=/opt/berth/bin:/opt/berth/tests:/usr/bin:/usr/sbin:/opt/berth/busybox HOME=/root
mkdir -p /var/lib /var/log /tmp/out
[ ! -e /overlay.ko ] || insmod /overlay.ko
# The tests have the programs' absolute paths compiled in.
mkdir -p "$(cat /opt/berth/built_at)/tests"
ln -s /opt/berth/bin "$(cat /opt/berth/built_at)/bin"
ln -s /opt/berth/tests "$(cat /opt/berth/built_at)/tests/integration"
[ ! -d /opt/berth/tools ] || ln -s /opt/berth/tools "$(cat /opt/berth/source_at)/tools"

word() { sed -n "s/.*berth\.$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
end_guest() { if [ -d /run/systemd/system ]; then systemctl reboot -ff; else reboot -f; fi; }

if [ -n "$(word shell)" ]; then
  echo
  echo "Berth's guest: $(uname -r), $(nproc) CPUs, process 1 is $(cat /proc/1/comm). berthd, berth and the"
  echo "tests are in PATH; examples are in /opt/berth/examples. Ctrl-D ends the guest."
  cd /root || exit 1
  if [ -d /run/systemd/system ]; then sh; else setsid cttyhack sh; fi
  end_guest
fi

stty -F /dev/ttyS1 raw -echo
stty -F /dev/ttyS2 raw -echo
exec 7>/dev/ttyS1
. /opt/berth/suites/common.sh
rounds=$(word rounds)
for suite in $(word suites | tr , ' '); do
  say "=== $suite"
  evidences=0
  evidence() { :; }
  . "/opt/berth/suites/$suite.sh"
done
tar -C /tmp/out -cf /dev/ttyS2 .
echo end >&7
sync
exec 7>&-
stty -F /dev/ttyS1 >/dev/null # waits until all was sent
end_guest
