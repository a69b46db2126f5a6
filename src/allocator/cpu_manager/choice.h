// CPU selection: the CPUs that may be given, and those a container gets: docs/rules/cpu.md, docs/rules/own.md.
#ifndef BERTH_ALLOCATOR_CPU_MANAGER_CHOICE_H_
#define BERTH_ALLOCATOR_CPU_MANAGER_CHOICE_H_

#include <optional>
#include <vector>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/cpu_selection/take.h"
#include "allocator/topology/mask.h"
#include "allocator/topology_manager/hints.h"
#include "base/id_set.h"
#include "base/result.h"

namespace berth::allocator {

/// CPUs that may be given exclusively now: what nobody has, without the reserved ones.
CpuSet AvailableCpus(const PodBooks& books);
/// These and what init containers left; under PodBooks::WholeCoresOnly only those of cores that are all in it.
CpuSet GivableCpus(const PodBooks& books);

/// To take `num` of `available` by the options that count for the pod.
TakeRequest RequestFor(const PodBooks& books, CpuSet available, int num);
/// Those in the hinted nodes; with align-by-socket in all sockets these nodes have CPUs of.
CpuSet AlignedCpus(const PodBooks& books, const CpuSet& allocatable, const Mask& mask);
/// Under strict L3 a container with so many has to be within one group.
bool InOneL3(const PodBooks& books, int num);
/// What to take all CPUs from, one set after the other: isolated ones and a kind of core first where that is wished.
/// The last one is what there is in any case.
std::vector<CpuSet> TiersOf(const PodBooks& books, CpuSet givable);
/// Whether some CPUs are preferred to others, so that TiersOf has more than one.
bool PrefersCpus(const CpuOptions& options);
/// `num` CPUs, all of `from` and of the hinted nodes; nullopt: these are not enough, or would be parts of cores.
std::optional<CpuSet> ChooseWholly(const PodBooks& books, int num, const MaskHint& hint, CpuSet from);

/// `num` of the givable CPUs: hinted nodes first, anywhere for the rest (rules/cpu#allocation); under
/// PodBooks::WholeCoresOnly whole cores of the hinted nodes, else (where the policy does not insist on these) of all.
/// Errors: kExhausted.
Result<CpuSet> ChooseCpus(const PodBooks& books, int num, const MaskHint& hint);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_MANAGER_CHOICE_H_
