// The settings as they count for one pod: the node's, and over them what the pod asks for by annotation, as far as the
// node's podPolicies let it: rules/own#pods.
#ifndef BERTH_ALLOCATOR_NODE_POD_RULES_H_
#define BERTH_ALLOCATOR_NODE_POD_RULES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "allocator/node/node_tables.h"
#include "base/result.h"
#include "model/pod.h"
#include "model/pod_wishes.h"

namespace berth::allocator {

struct PodRules {
  TopologyPolicy topology_policy = TopologyPolicy::kNone;
  Scope scope = Scope::kContainer;
  CpuOptions cpu;
  PodWishes wishes;
  Mask nodes;                         ///< its CPUs and memory are of these alone; empty: of any
  CpuSet node_cpus;                   ///< of these
  const PodPolicy* policy = nullptr;  ///< the rule that lets it, of the node's options; nullptr: it asks for nothing
  std::string problem;                ///< why it may not have what it asks for; "": it may
  std::string pool_problem{};         ///< likewise, of the named pools it asks for
};

/// Of pods that ask for nothing.
PodRules NodeRules(const NodeTables& tables);
/// What is asked for and refused is as the node has it, with the reason in `problem`.
PodRules RulesFor(const NodeTables& tables, const Pod& pod);

/// As CPUs are chosen for a named pool: rules/pools#which. `threads` is what counts: a node without parts of cores for
/// anybody has none in its pools either. Errors: kInvalid where options contradict each other or the machine.
struct PoolRules {
  PodRules rules;
  PoolThreads threads = PoolThreads::kAny;
};
Result<PoolRules> RulesOfPool(const NodeTables& tables, const PoolRule& pool);

/// CPUs that all pods under the rule may have for themselves together; nullopt: any number.
std::optional<std::int64_t> MostCpus(const NodeTables& tables, const PodPolicy& policy);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_NODE_POD_RULES_H_
