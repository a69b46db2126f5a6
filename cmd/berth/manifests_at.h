// Manifest files named on the command line.
#ifndef BERTH_CMD_BERTH_MANIFESTS_AT_H_
#define BERTH_CMD_BERTH_MANIFESTS_AT_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace berth::cli {

/// `name` itself, or, when it is a folder, the .yaml, .yml and .json files in it, sorted.
/// Errors: as os::Fs::List; kNotFound when a folder holds none.
Result<std::vector<std::string>> ManifestsAt(const std::string& name);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_MANIFESTS_AT_H_
