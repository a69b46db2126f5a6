// A node kept the way the kubelet that recorded the golden traces kept its books, for `berth-conformance` of kind
// "trace".
//
// Same rules as Decide, but the habits of the recorder that a node of ours must not have are reproduced here and
// nowhere else: the pod being admitted is not yet known to the stale-state sweep, so what an earlier container of the
// same pod got is swept away as soon as a later one asks the same manager; a rejected pod's last allocation stays on
// the books until the next sweep; and a restart brings back devices that were swept away but are still in the
// checkpoint, which is only written when devices are given.
#ifndef BERTH_TESTS_CONFORMANCE_RECORDED_NODE_H_
#define BERTH_TESTS_CONFORMANCE_RECORDED_NODE_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/engine.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::conformance {

/// Which of several equally good devices the recorder happened to take (its order is arbitrary): container -> place
/// (see DevicePlace) -> number of devices. Only breaks ties.
using DeviceWishes = std::map<std::string, std::map<std::string, int>>;
/// Devices of one kind in one place: "gpu@0", "gpu@0+1" for a device on two nodes, "gpu@any" for none.
std::string DevicePlace(const std::string& resource, const NodeSet& nodes);

class RecorderHabits;

class RecordedNode {
 public:
  struct Step {
    bool admit = true;
    std::string reason;  ///< code, when not admitted
    std::string message;
    std::map<std::string, TopologyHint> hints;  ///< container -> hint; empty under policy none and when not admitted
  };

  /// The kubelet hands out a reserved CPU as part of a core whose free threads happen to be as many as cores have on
  /// average. kNever: not reproduced. kAsRecorded: reproduced, for recordings that show no other harm (no CPU in two
  /// sets or in the shared pool too, no listed reserved CPU handed out, no error at a restart), so that what follows
  /// from it compares.
  enum class Reserved { kNever, kAsRecorded };

  RecordedNode(allocator::Node node, allocator::Inputs inputs, Reserved reserved = Reserved::kNever);
  ~RecordedNode();
  RecordedNode(RecordedNode&&) noexcept;
  RecordedNode& operator=(RecordedNode&&) noexcept;

  /// {"op":"add"}: admits the pod or not; if admitted its containers start in order.
  /// wishes: nullptr if nothing is known; read only during the call.
  Step Add(const Pod& pod, Trace* trace, const DeviceWishes* wishes = nullptr);
  /// {"op":"remove"}: the pod is gone (unknown uid: nothing but the sweep).
  void Remove(std::string_view uid);
  /// {"op":"restart"}: what was only in memory is forgotten.
  /// cpus_swept: what a rejected pod left of CPUs is swept away by the recorder's reconcile loop, which starts by
  /// itself: whether it had by the time the step was recorded is chance.
  void Restart(bool cpus_swept = true);

  /// What is on the books after the last step. Placements of containers that hold nothing are left out.
  const Ledger& ledger() const { return ledger_; }
  /// Devices are marked as taken that nobody holds: what a container took over from an init container before its
  /// allocation failed. The books do not show them; later pods cannot have them.
  bool HasLeakedDevices() const;

 private:
  using DevicesByContainer = std::map<std::string, std::vector<DeviceAssignment>>;

  Ledger Swept() const;
  void KeepUnswept(const Ledger& before);
  void WriteDeviceCheckpoint(const Pod& pod, const Placement& placement);

  allocator::Node node_;
  allocator::Inputs inputs_;
  Ledger ledger_;
  std::map<std::string, DevicesByContainer, std::less<>> device_checkpoint_;  // by pod uid
  std::set<std::string> rejected_;  // pods that were not admitted but are still on the books
  std::unique_ptr<RecorderHabits> habits_;
};

}  // namespace berth::conformance

#endif  // BERTH_TESTS_CONFORMANCE_RECORDED_NODE_H_
