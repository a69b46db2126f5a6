// Device plug-in failure matrix: plug-in faults and berthd restarts at each stage of a pod with a device, every
// combination on one node, with whichever runtime that has.
#ifndef BERTH_TESTS_INTEGRATION_DEVICE_MATRIX_H_
#define BERTH_TESTS_INTEGRATION_DEVICE_MATRIX_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon_fixture.h"
#include "device_peer.h"

namespace berth::testkit {

/// A pod of one container that idles and has `count` devices; `slow`: it takes a second to end.
std::string DevicePod(const std::string& name, const std::string& resource, int count, bool slow = false);

/// Every plug-in of the node has a fate of its own. Pod "old-<fate>" holds a device of it all the time; in each round
/// pod "new-<fate>" gets one and goes again, the fates befall the plug-ins when the pods have come to the round's
/// stage, then berthd ends as the round wants it and starts again, and then all is mended.
///
/// Expected: at no time has a device two owners; both pods run in the end with a device each, of which their processes
/// know; no "old" was ever restarted or has another device; after all rounds every device can be given.
class DeviceMatrix {
 public:
  enum class Stage { kBeforeRegistration, kRegistered, kInAllocate, kRunning, kInRemoval };
  enum class End { kNone, kKilled, kStopped };

  /// `start` starts berthd, whose plug-ins register in `folder`, or are found in `registry` unless that is "".
  DeviceMatrix(DaemonFixture& node, std::string folder, std::string registry, std::function<void()> start);

  /// All rounds; how many cases that were.
  int Run(const std::vector<End>& ends);

 private:
  enum class Fate { kUntouched, kKilled, kRestarted, kSick, kUnlisted, kUpgraded };
  struct Lane {
    Fate fate;
    std::string name;
    std::string resource;
    int version = 1;  // of the plug-in: every second one has a device more, and each a socket of its own
    std::unique_ptr<DevicePeer> peer{};
    int old_pid = 0;
    std::string old_device{};
  };
  struct SeenPod {
    bool runs = false;
    std::string reason;
    std::vector<std::string> devices;
    int pid = 0;
  };
  using SeenPods = std::map<std::string, SeenPod>;  // without the node's name
  using ForLane = std::function<bool(const Lane&, const SeenPods&)>;

  SeenPods Look();
  bool Until(const std::string& what, const ForLane& done);
  void Add(const std::string& prefix, int count = 1, bool slow = false);
  void RemoveAll(const std::string& prefix);
  void Serve(Lane& lane);
  void Befall(Lane& lane);
  void Mend(Lane& lane);
  void Restart(End end);
  bool Come(Stage stage);
  void Round(Stage stage, End end);
  void ExpectBothRun();
  void ExpectAllCanBeGiven();

  DaemonFixture& node_;
  const std::string folder_;
  const std::string registry_;
  const std::function<void()> start_;
  std::vector<Lane> lanes_;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_DEVICE_MATRIX_H_
