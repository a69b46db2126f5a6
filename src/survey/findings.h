// Preflight findings of a node survey: problems and remedies for who wants Berth beside the kubelet there. Pure.
#ifndef BERTH_SURVEY_FINDINGS_H_
#define BERTH_SURVEY_FINDINGS_H_

#include <vector>

#include "survey/survey_values.h"

namespace berth::survey {

/// The gravest first; `findings` of the survey are not looked at.
std::vector<Finding> Judge(const Survey& survey);

}  // namespace berth::survey

#endif  // BERTH_SURVEY_FINDINGS_H_
