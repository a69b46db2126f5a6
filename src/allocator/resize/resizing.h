// One pod's resize on the books of a ledger.
#ifndef BERTH_ALLOCATOR_RESIZE_RESIZING_H_
#define BERTH_ALLOCATOR_RESIZE_RESIZING_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/demand/demand.h"
#include "allocator/node/engine_node.h"
#include "allocator/reason/decision_log.h"
#include "allocator/topology_manager/hints.h"
#include "model/decision.h"

namespace berth::allocator {

/// Used once.
class Resizing {
 public:
  /// Everything is held by reference. Requires: the pod is in the ledger.
  Resizing(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, DecisionLog log);

  /// Whatever is free: why the pod cannot become like that at all. nullopt: Run decides.
  std::optional<Reject> WhyNever();
  /// First all that shrinks, then all that grows. nullopt: done. The reason of a Reject is one of Decide's.
  std::optional<Reject> Run();
  /// After Run said yes. Once.
  LedgerDelta TakeDelta();

 private:
  /// A container that may change: what it has and what it shall have.
  struct Part {
    std::size_t position;  ///< of its placement
    const ContainerDemand* demand;
    int had = 0;  ///< exclusive CPUs
    bool more_memory = false;
    bool other_memory = false;
    bool Grows() const { return demand->cpus > had || more_memory; }
  };

  Placement& PlacementOf(const Part& part) { return books_.record.placements[part.position]; }
  Part PartOf(std::size_t position, const ContainerDemand& demand) const;
  std::optional<Reject> ShrinkCpus(const Part& part);
  void GiveBack(Placement& placement, CpuSet left);
  std::optional<Reject> Align();
  std::optional<Reject> AlignParts(const std::vector<Part>& parts, int cpus, const CpuSet& have,
                                   std::optional<MaskHint>& hint);
  void AddHeldDevices(const Part& part, std::vector<HintList>& out);
  HintList HeldMemory(const Part& part);
  std::optional<Reject> Grow(const Part& part, const std::optional<MaskHint>& hint);
  std::optional<Reject> GrowCpus(const Part& part, const MaskHint& hint);
  std::optional<Reject> ChangeMemory(const Part& part, const MaskHint& hint);
  std::optional<Reject> CheckNode();
  void Say(const Part& part, std::string_view resource, std::string text) const;

  const NodeTables& tables_;
  bool node_fit_;
  const Pod& pod_;
  const PodRecord& before_;
  DecisionLog log_;
  PodDemand demand_;
  PodBooks books_;
  std::map<std::string, CpuSet> kept_;  // by annotation
  std::vector<Part> parts_;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_RESIZE_RESIZING_H_
