// Exclusive CPUs for containers: hints, SMT check, allocation, reuse, release: docs/rules/cpu.md.
#ifndef BERTH_ENGINE_CPU_CPU_POLICY_H_
#define BERTH_ENGINE_CPU_CPU_POLICY_H_

#include <optional>

#include "engine/align/hints.h"
#include "engine/books/pod_books.h"
#include "engine/demand/demand.h"
#include "engine/reason/decision_log.h"
#include "model/decision.h"

namespace berth::engine {

/// CPUs that may be given exclusively now: the shared pool without the reserved ones.
CpuSet AvailableCpus(const PodBooks& books);
/// These and what init containers left; under NodeTables::WholeCoresOnly only those of cores that are all in it.
CpuSet GivableCpus(const PodBooks& books);

/// What the SMT check of full-pcpus-only counts as free, which is not what may be given: without what init containers
/// left, without every CPU of a reserved core (rules/cpu#whole-cores).
int FreeForSmtCheck(const PodBooks& books);

/// Hints for `cpus` exclusive CPUs (of a container or a whole pod). 0: no preference.
HintList CpuHints(const PodBooks& books, int cpus);

/// Smallest number of nodes whose CPUs, taken or not, are enough for `cpus`; the number of nodes with CPUs if all of
/// them are not enough.
int NarrowestCpuNodes(const NodeTables& tables, int cpus);

/// Gives the container its CPUs and puts them into `placement`. nullopt: done (or nothing asked).
std::optional<Reject> AllocateCpus(PodBooks& books, const ContainerDemand& demand, const MaskHint& hint,
                                   Placement& placement, const DecisionLog& log);

/// The CPUs of a placement go back to the shared pool, but for those another container of the record still holds.
void ReleaseCpus(PodBooks& books, const PodRecord& record, const Placement& placement);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_CPU_CPU_POLICY_H_
