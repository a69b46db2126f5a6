# Read by ctest once the cases are known: what cases share on a host that has it only once, and which of them take longest, to
# begin first.
function(berth_share what)
  foreach(case IN LISTS ARGN)
    set_tests_properties(${case} PROPERTIES RESOURCE_LOCK ${what})
  endforeach()
endfunction()

# The berthd of `berth run --once` has one socket a host.
berth_share(run_once
  RunOnceTest.ABerthdThatDoesNotStartLeavesNothingBehind
  RunOnceTest.SeveralShareOneBerthdWhichLeavesNothingBehind
  RunOnceTest.TheNodesThatAreAskedForAreWhereItRuns
  RunOnceTest.WhatAKilledOneLeftTheNextRemoves
  RunOnceTest.WhoNamesNoMemoryHasCpusOfItsOwnAndNoLimitOfMemory)
# Free huge pages are counted; and a berthd that finds more or fewer of them at its start writes all values anew, without a word.
berth_share(huge_pages
  DaemonNodeTest.ACpusetEditedByHandIsPutBackItsWriterNamedAndAQuotaToo
  DaemonVolumeTest.AVolumeOfHugePagesIsSizedAndItsPagesAreFreeAfterThePod
  DaemonCriVolumeTest.AVolumeOfHugePagesGivesThemAndGetsThemBack)

foreach(case
    DaemonCriDeviceTest.NoDeviceIsGivenTwiceOrLostWhateverEndsWhen
    DaemonCriOutageTest.APodWhoseStartWasCutOffStartsWhenTheRuntimeAnswersAgain
    DaemonCriIsolationTest.TheNetworksPlugInsAreToldOfAPortOfTheNodeThatNoOtherPodGets
    DaemonDeviceTest.NoDeviceIsGivenTwiceOrLostWhateverEndsWhen)
  set_tests_properties(${case} PROPERTIES COST 100)
endforeach()
