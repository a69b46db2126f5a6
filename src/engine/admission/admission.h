// Walking a pod through the managers, container by container: rules/topology#scopes.
#ifndef BERTH_ENGINE_ADMISSION_ADMISSION_H_
#define BERTH_ENGINE_ADMISSION_ADMISSION_H_

#include <optional>
#include <string_view>

#include "engine/admission/shortage.h"
#include "engine/books/pod_books.h"
#include "engine/demand/demand.h"
#include "engine/node/node.h"
#include "engine/reason/decision_log.h"
#include "model/decision.h"

namespace berth::engine {

/// What a RecordedNode keeps between pods, and what one pod's admission reports back; engine/recorded.h says why.
struct RecorderState {
  bool loose_reserved = false;           ///< RecordedNode::Reserved::kAsRecorded
  bool stale_devices = false;            ///< the device table still has entries of pods that are gone
  std::vector<DeviceAssignment> leaked;  ///< marked as taken, though nobody holds them
  bool cpus_swept = false;               ///< out: the CPU manager was asked
  bool memory_swept = false;             ///< out: the memory manager was asked
  const DeviceWishes* wishes = nullptr;
};

/// One pod's way through none, container or pod scope. Used once.
class Admission {
 public:
  /// Everything is held by reference. Requires: the pod is not in the ledger.
  /// `recorder`: nullptr for a node of ours.
  Admission(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, DecisionLog log,
            RecorderState* recorder = nullptr);

  /// nullopt: every container is placed.
  std::optional<Reject> Run();

  /// What has been taken so far. Valid after Run, whatever it said.
  LedgerDelta Delta() const;
  const PodBooks& books() const { return books_; }
  const PodDemand& demand() const { return demand_; }
  /// The placement of the last container that was given devices, as it was then; nullopt: none was.
  const std::optional<Placement>& last_with_devices() const { return last_with_devices_; }

 private:
  std::optional<Reject> RunUnaligned();
  std::optional<Reject> RunContainerScope();
  std::optional<Reject> RunPodScope();
  std::optional<Reject> Place(const ContainerDemand& demand, const std::optional<MaskHint>& hint);
  std::optional<Reject> CheckSharedPool() const;
  Reject Misaligned(std::string_view container, int cpus, const std::vector<MemoryNeed>& memory,
                    const std::vector<DeviceNeed>& devices, const std::vector<HintList>& lists);
  void AddShortages(Reject& reject, const Request& request);
  void OpenAsRecorder();
  void OpenReservedAsRecorder();
  void SweepAsRecorder();
  void SweepDevicesAsRecorder();
  void SweepCpusAsRecorder();
  void SweepMemoryAsRecorder();
  bool AsksForDevices(const ContainerDemand& demand);
  void LogDemand() const;

  const NodeTables& tables_;
  DecisionLog log_;
  RecorderState* recorder_;
  PodDemand demand_;
  PodBooks books_;
  std::optional<Placement> last_with_devices_;
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_ADMISSION_ADMISSION_H_
