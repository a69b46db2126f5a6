// The steps of a simulation on a node whose settings let pods wait, and critical ones have others evicted.
#ifndef BERTH_SIMULATOR_OFFLINE_QUEUEING_H_
#define BERTH_SIMULATOR_OFFLINE_QUEUEING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "allocator/engine.h"
#include "simulator/offline/offline_node.h"
#include "simulator/offline/simulation.h"

namespace berth::offline {

/// Takes steps one after the other, by the rules of docs/rules/queue.md as far as `node.queue` switches them on. A pod
/// that ends is gone at once. Evicted are pods that steps have added: of others no priority is known.
class Queueing {
 public:
  /// `node` outlives this, and is changed by steps alone.
  explicit Queueing(OfflineNode& node) : node_(node), line_(node.queue.overtakes) {}

  /// What came of it, in order: who was evicted for the step's pod, the step itself, and who was admitted or evicted
  /// with what it gave back.
  std::vector<Outcome> Take(const Step& step, int number);
  /// Full names of the pods that wait, the first one first.
  std::vector<std::string> Waiting() const;

 private:
  void Add(const AddStep& add, int number);
  void Resize(const ResizeStep& resize, int number);
  void Remove(const RemoveStep& remove, int number);
  std::optional<Outcome> Admit(const AddStep& add, int number, bool waited);
  void Evict(const Removal& victims, const Pod& pod, int number);
  std::string WhoComesFirst(const Pod& pod, const LedgerDelta& change) const;
  allocator::NodeNow Now() const { return {node_.node, node_.ledger, node_.inputs}; }
  allocator::Others OthersNow() const;
  int Join(const AddStep& add);
  bool Leave(const std::string& uid);
  void DecideQueue(int number);
  const Pod* FindWaiting(const std::string& uid) const;

  OfflineNode& node_;
  allocator::Line line_;
  std::vector<AddStep> queue_;                      // in its order
  std::map<std::string, std::int32_t> priorities_;  // by uid, of pods added
  bool changed_ = false;                            // the ledger, since the queue was decided last
  std::vector<Outcome> outcomes_;                   // of the step that is being taken
};

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_QUEUEING_H_
