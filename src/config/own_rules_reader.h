// cpuOptions, isolatedCpus, podPolicies and cpuPools of the BerthConfiguration.
#ifndef BERTH_CONFIG_OWN_RULES_READER_H_
#define BERTH_CONFIG_OWN_RULES_READER_H_

#include "manifest/field_reader.h"
#include "model/own_rules.h"

namespace berth::config {

/// What is wrong is noted in the object's report.
void ReadOwnRules(manifest::Object& object, OwnRules& out);

}  // namespace berth::config

#endif  // BERTH_CONFIG_OWN_RULES_READER_H_
