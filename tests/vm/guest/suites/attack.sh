# Attacks on berthd where systemd makes the groups and the kernel has cgroup v2: the black-box tests that also run on the
# host, those of them for which one of the two makes a difference or time is short. Everything is slower here.
export BERTH_SLOWER=10 BERTH_MANY_PODS=8
google_test berth_attack_test 900 "PodAttackTest.AProcessThatLeaves*:PodAttackTest.AStopped*:ApiAttackTest.ABodyThatGrows*:\
ApiAttackTest.TwoHundredDripping*:ApiAttackTest.EightLargeBodies*:ApiAttackTest.LargeBodiesThatAreAccepted*:\
ManifestAttackTest.AnEnvironmentThatDoubles*:ManifestAttackTest.LargeFiles*:ManifestAttackTest.WhatOthers*:UrlAttackTest.*:\
ManyPodsTest.*"
unset BERTH_SLOWER BERTH_MANY_PODS
