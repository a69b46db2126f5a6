// CPU selection for a resize: the CPUs a running container gets or keeps: docs/rules/resize.md.
#ifndef BERTH_ALLOCATOR_CPU_MANAGER_OTHER_SIZE_H_
#define BERTH_ALLOCATOR_CPU_MANAGER_OTHER_SIZE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/topology_manager/hints.h"
#include "base/id_set.h"
#include "base/result.h"

namespace berth::allocator {

/// `num` CPUs more for a container that has `have`: of the hinted nodes, and of these what lies nearest to what it has;
/// anywhere for the rest (rules/resize#grow). One that has none is as a new one. Errors: kExhausted.
Result<CpuSet> ChooseMore(const PodBooks& books, const CpuSet& have, int num, const MaskHint& hint);
/// `num` of the CPUs it has: all of `promised` where these are not more, or some of them (rules/resize#shrink).
/// Requires: promised is a part of `have`, which has more than `num`. Errors: kExhausted.
Result<CpuSet> ChooseFewer(const PodBooks& books, CpuSet promised, CpuSet have, int num);

/// The place in `tiers` (TiersOf what may be given and `have`) of the first that has all of `have`, and all of `num`
/// CPUs more on the hinted nodes; that of the last if none has. ChooseMore goes by it. A new container has nothing.
std::size_t TierOn(const PodBooks& books, const CpuSet& have, int num, const std::vector<CpuSet>& tiers,
                   const MaskHint& hint);

/// Why a container that has `have` cannot have `num` more under strict L3; "": it can, or needs no one group.
std::string L3ShortageOfMore(const PodBooks& books, const CpuSet& have, int num);
/// False: under strict L3 the CPUs of a container may not be these, but have to be of one group.
bool FitsStrictL3(const PodBooks& books, const CpuSet& cpus);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_MANAGER_OTHER_SIZE_H_
