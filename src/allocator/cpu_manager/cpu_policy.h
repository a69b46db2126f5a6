// Exclusive CPUs for containers: hints, SMT check, allocation, reuse, release: docs/rules/cpu.md.
#ifndef BERTH_ALLOCATOR_CPU_MANAGER_CPU_POLICY_H_
#define BERTH_ALLOCATOR_CPU_MANAGER_CPU_POLICY_H_

#include <optional>
#include <string>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/demand/demand.h"
#include "allocator/reason/decision_log.h"
#include "allocator/topology_manager/hints.h"
#include "base/result.h"
#include "model/decision.h"

namespace berth::allocator {

/// What the SMT check of full-pcpus-only counts as free, which is not what may be given: without what init containers
/// left, without every CPU of a reserved core (rules/cpu#whole-cores).
int FreeForSmtCheck(const PodBooks& books);

/// Hints for `cpus` exclusive CPUs (of a container or a whole pod). 0: no preference.
/// `of_container`: under strict L3 a node counts only where one L3 group has them all.
HintList CpuHints(const PodBooks& books, int cpus, bool of_container);

/// What a container with `cpus` CPUs is short of under strict L3; "": nothing.
std::string L3Shortage(const PodBooks& books, int cpus);

/// Smallest number of nodes whose CPUs, taken or not, are enough for `cpus`; the number of nodes with CPUs if all of
/// them are not enough. `among`: only these count; nullptr: all.
int NarrowestCpuNodes(const NodeTables& tables, int cpus, const CpuSet* among = nullptr);

/// Gives the container its CPUs and puts them into `placement`. nullopt: done (or nothing asked).
std::optional<Reject> AllocateCpus(PodBooks& books, const ContainerDemand& demand, const MaskHint& hint,
                                   Placement& placement, const DecisionLog& log);

/// Why so many CPUs are no whole number of cores under full-pcpus-only; nullopt: they are, or need not be.
std::optional<std::string> PartOfCore(const PodBooks& books, int cpus);

/// The CPUs of a placement go back to the shared pool, but for those another container of the record still holds.
void ReleaseCpus(PodBooks& books, const PodRecord& record, const Placement& placement);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_MANAGER_CPU_POLICY_H_
