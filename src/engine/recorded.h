// A node kept the way the kubelet that recorded the golden traces kept its books, for `berth replay` of kind "trace".
//
// Same rules as Decide, but the habits of the recorder that a node of ours must not have are reproduced here and nowhere
// else: the pod being admitted is not yet known to the stale-state sweep, so what an earlier container of the same pod
// got is swept away as soon as a later one asks the same manager; a rejected pod's last allocation stays on the books
// until the next sweep; and a restart brings back devices that were swept away but are still in the checkpoint, which is
// only written when devices are given.
#ifndef BERTH_ENGINE_RECORDED_H_
#define BERTH_ENGINE_RECORDED_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace berth::engine {

class RecordedNode {
 public:
  struct Step {
    bool admit = true;
    std::string reason;  ///< code, when not admitted
    std::string message;
    std::map<std::string, TopologyHint> hints;  ///< container -> hint; empty under policy none and when not admitted
  };

  RecordedNode(Node node, Inputs inputs);

  /// {"op":"add"}: admits the pod or not; if admitted its containers start in order.
  Step Add(const Pod& pod, Trace* trace);
  /// {"op":"remove"}: the pod is gone (unknown uid: nothing but the sweep).
  void Remove(std::string_view uid);
  /// {"op":"restart"}: what was only in memory is forgotten.
  void Restart();

  /// What is on the books after the last step. Placements of containers that hold nothing are left out.
  const Ledger& ledger() const { return ledger_; }

 private:
  using DevicesByContainer = std::map<std::string, std::vector<DeviceAssignment>>;

  void Sweep();
  void WriteDeviceCheckpoint(const Pod& pod, const Placement& placement);

  Node node_;
  Inputs inputs_;
  Ledger ledger_;
  std::map<std::string, DevicesByContainer, std::less<>> device_checkpoint_;  // by pod uid
  std::string rejected_;  // uid of the pod whose leftovers are still on the books; empty: none
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_RECORDED_H_
