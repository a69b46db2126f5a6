// Cpuset plan for the running containers of a node, if Berth were beside the kubelet there from now on. Pure.
#ifndef BERTH_SURVEY_TAKEOVER_PLAN_H_
#define BERTH_SURVEY_TAKEOVER_PLAN_H_

#include <optional>
#include <vector>

#include "engine/engine.h"
#include "model/kubelet_config.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "survey/survey_values.h"

namespace berth::survey {

/// Decides one container after the other, as a takeover does; who is in `ledger` keeps what he has.
Plan PlanTakeover(const engine::Node& node, Ledger ledger, const engine::Inputs& inputs,
                  const std::vector<SeenContainer>& seen);

/// By which policies, where nobody says: whole CPUs of Guaranteed containers are theirs, on as few NUMA nodes as can
/// be, beside what `kubelet` (may be null) reserves; where that is nothing the first CPU is reserved.
KubeletConfiguration UsualPlacement(const KubeletConfiguration* kubelet, const Machine& machine);

}  // namespace berth::survey

#endif  // BERTH_SURVEY_TAKEOVER_PLAN_H_
