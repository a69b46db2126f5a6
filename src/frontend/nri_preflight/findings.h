// Preflight findings of a node: problems and remedies for who wants Berth beside the kubelet there. Pure.
#ifndef BERTH_FRONTEND_NRI_PREFLIGHT_FINDINGS_H_
#define BERTH_FRONTEND_NRI_PREFLIGHT_FINDINGS_H_

#include <vector>

#include "frontend/nri_preflight/preflight_values.h"

namespace berth::nri_preflight {

/// The gravest first; `findings` of the survey are not looked at.
std::vector<Finding> Judge(const Preflight& preflight);

}  // namespace berth::nri_preflight

#endif  // BERTH_FRONTEND_NRI_PREFLIGHT_FINDINGS_H_
