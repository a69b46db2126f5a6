// Cpuset plan for the running containers of a node, if Berth were beside the kubelet there from now on. Pure.
#ifndef BERTH_FRONTEND_NRI_PREFLIGHT_CPUSET_PLAN_H_
#define BERTH_FRONTEND_NRI_PREFLIGHT_CPUSET_PLAN_H_

#include <optional>
#include <vector>

#include "allocator/engine.h"
#include "frontend/nri_preflight/preflight_values.h"
#include "model/kubelet_config.h"
#include "model/ledger.h"
#include "model/machine.h"

namespace berth::nri_preflight {

/// Decides one container after the other, as berthd does when it joins; who is in `ledger` keeps what he has.
Plan PlanCpusets(const allocator::Node& node, Ledger ledger, const allocator::Inputs& inputs,
                 const std::vector<SeenContainer>& seen);

/// By which policies, where nobody says: whole CPUs of Guaranteed containers are theirs, on as few NUMA nodes as can
/// be, beside what `kubelet` (may be null) reserves; where that is nothing the first CPU is reserved.
KubeletConfiguration UsualPlacement(const KubeletConfiguration* kubelet, const Machine& machine);

}  // namespace berth::nri_preflight

#endif  // BERTH_FRONTEND_NRI_PREFLIGHT_CPUSET_PLAN_H_
