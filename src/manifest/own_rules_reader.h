// cpuOptions, isolatedCpus, podPolicies and cpuPools of the BerthConfiguration.
#ifndef BERTH_MANIFEST_OWN_RULES_READER_H_
#define BERTH_MANIFEST_OWN_RULES_READER_H_

#include "manifest/field_reader.h"
#include "model/own_rules.h"

namespace berth::manifest {

/// What is wrong is noted in the object's report.
void ReadOwnRules(Object& object, OwnRules& out);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_OWN_RULES_READER_H_
