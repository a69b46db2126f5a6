// Walking a pod through the managers, container by container: rules/topology#scopes.
#ifndef BERTH_ALLOCATOR_ADMISSION_ADMISSION_H_
#define BERTH_ALLOCATOR_ADMISSION_ADMISSION_H_

#include <optional>
#include <string_view>
#include <vector>

#include "allocator/admission/book_keeper.h"
#include "allocator/admission/shortage.h"
#include "allocator/allocation_state/pod_books.h"
#include "allocator/demand/demand.h"
#include "allocator/device_manager/close_plan.h"
#include "allocator/node/engine_node.h"
#include "allocator/reason/decision_log.h"
#include "model/decision.h"

namespace berth::allocator {

/// One pod's way through none, container or pod scope. Used once.
class Admission {
 public:
  /// Everything is held by reference. Requires: the pod is not in the ledger.
  Admission(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, DecisionLog log,
            BookKeeper* keeper = nullptr);

  /// Places `container` alone; what the pod's other containers have in `placed` stays (rules/topology#one-at-a-time).
  /// Before Run.
  void GoOn(PodRecord placed, std::string_view container);

  /// nullopt: every container is placed.
  std::optional<Reject> Run();

  PodBooks& books() { return books_; }
  /// Placements that were tried in looking ahead.
  int tried_ahead() const { return tried_ahead_; }
  /// What has been taken so far, after Run, whatever it said. Once: it is moved out of the books.
  LedgerDelta TakeDelta();

 private:
  std::optional<Reject> RunUnaligned();
  /// `hints`: of each container, in place of what is merged; empty: none.
  std::optional<Reject> RunContainerScope(const std::vector<MaskHint>& hints = {});
  std::optional<Reject> RunContainerScopeFirst();
  bool FindHints(int& tries, std::vector<MaskHint>& hints);
  std::vector<MaskHint> HintsToTry(const ContainerDemand& demand);
  std::optional<Reject> RunPodScopeFirst();
  std::optional<Reject> RunPodScope();
  /// pod_plan: of the whole pod; nullptr: each container has its own.
  std::optional<Reject> Place(const ContainerDemand& demand, const std::optional<MaskHint>& hint,
                              const ClosePlan* pod_plan = nullptr);
  CpuSet NearCpus(const Placement& placement, bool of_pod);
  Reject Misaligned(std::string_view container, int cpus, const std::vector<MemoryNeed>& memory,
                    const std::vector<DeviceNeed>& devices, const std::vector<HintList>& lists);
  std::string WidthText(const std::vector<HintList>& lists) const;
  /// `lists`: what the resources said, of a request that no nodes serve.
  void AddShortages(Reject& reject, const Request& request, const std::vector<HintList>& lists);
  void LogDemand() const;

  const NodeTables& tables_;
  DecisionLog log_;
  BookKeeper* keeper_;
  bool goes_on_ = false;
  int tried_ahead_ = 0;
  PodDemand demand_;
  PodBooks books_;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ADMISSION_ADMISSION_H_
