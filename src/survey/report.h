// A survey for people, and for programs.
#ifndef BERTH_SURVEY_REPORT_H_
#define BERTH_SURVEY_REPORT_H_

#include <string>

#include "codec/codec.h"
#include "survey/survey_values.h"
#include "view/table.h"

namespace berth::survey {

/// The facts, what would change for each container, and what it means. Requires: `width` of the options is that of the
/// terminal, or 0.
std::string FormatReport(const Survey& survey, const view::TableOptions& options);

codec::Json ToJson(const Survey& survey);

}  // namespace berth::survey

#endif  // BERTH_SURVEY_REPORT_H_
