// Preflight report as text and JSON.
#ifndef BERTH_FRONTEND_NRI_PREFLIGHT_REPORT_H_
#define BERTH_FRONTEND_NRI_PREFLIGHT_REPORT_H_

#include <string>

#include "api/codec/codec.h"
#include "frontend/nri_preflight/preflight_values.h"
#include "view/table.h"

namespace berth::nri_preflight {

/// The facts, what would change for each container, and what it means. Requires: `width` of the options is that of the
/// terminal, or 0.
std::string FormatReport(const Preflight& preflight, const view::TableOptions& options);

codec::Json ToJson(const Preflight& preflight);

}  // namespace berth::nri_preflight

#endif  // BERTH_FRONTEND_NRI_PREFLIGHT_REPORT_H_
