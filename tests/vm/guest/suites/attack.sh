# Attacks on berthd as a service, with what packaging/berthd.service says but its command, where systemd makes the groups and
# the kernel has cgroup v2: the black-box tests that also run on the host, those of them for which one of these makes a
# difference or time is short. Everything is slower here.
rm -rf /run/berth
export BERTH_SLOWER=10 BERTH_MANY_PODS=8 BERTH_UNIT=/opt/berth/packaging/berthd.service
google_test berth_attack_test 900 "PodAttackTest.AProcessThatLeaves*:PodAttackTest.AStopped*:ApiAttackTest.ABodyThatGrows*:\
ApiAttackTest.TwoHundredDripping*:ApiAttackTest.EightLargeBodies*:ApiAttackTest.LargeBodiesThatAreAccepted*:\
ManifestAttackTest.AnEnvironmentThatDoubles*:ManifestAttackTest.LargeFiles*:ManifestAttackTest.WhatOthers*:UrlAttackTest.*:\
MemberAttackTest.*:ManyPodsTest.*"
unset BERTH_SLOWER BERTH_MANY_PODS BERTH_UNIT
check was-a-service test -d /run/berth # the unit's RuntimeDirectory, which stays; the tests use another
equal leaves-no-services "" "$(systemctl list-units --all --plain --no-legend 'berth-test-*.service')"
rm -rf /run/berth /var/lib/berth /etc/berth
