// KubeletConfiguration files: YAML or JSON text -> settings, with messages a user of kubectl expects.
#ifndef BERTH_CONFIG_KUBELET_READER_H_
#define BERTH_CONFIG_KUBELET_READER_H_

#include <string_view>
#include <vector>

#include "base/result.h"
#include "manifest/warning.h"
#include "model/kubelet_config.h"
#include "model/kubelet_version.h"

namespace berth::config {

struct ParsedKubeletConfiguration {
  KubeletConfiguration config;
  std::vector<manifest::Warning> warnings;
};
/// Unknown and duplicate fields are warnings, wrong types and failed validations errors (rules/sources#settings).
/// Exactly one document with apiVersion and kind. Relative staticPodPath and podLogsDir are resolved against the folder
/// of `file`. Not checked here, because the kubelet finds it out only at construction: policies, policy options,
/// eviction texts, sums of reservedMemory (allocator::Node::Make). `version`: of the kubelet it is to be as.
/// Errors: kInvalid with all problems found, one a line.
Result<ParsedKubeletConfiguration> ParseKubeletConfiguration(std::string_view text, std::string_view file,
                                                             KubeletVersion version = KubeletVersion::k1_36);
/// The same; with problems `out` has what could be read, for further checks.
Result<void> ReadKubeletConfiguration(std::string_view text, std::string_view file, KubeletVersion version,
                                      ParsedKubeletConfiguration& out);

/// The same for the fields alone, as JSON, apiVersion and kind optional (recorded cases). Relative paths stay as they
/// are. `where` is used in messages instead of file and document.
Result<ParsedKubeletConfiguration> ParseKubeletConfigurationFields(std::string_view json, std::string_view where,
                                                                   KubeletVersion version = KubeletVersion::k1_36);

}  // namespace berth::config

#endif  // BERTH_CONFIG_KUBELET_READER_H_
