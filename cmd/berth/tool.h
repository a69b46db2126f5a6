// Other people's programs, run to their end without a shell.
#ifndef BERTH_CMD_BERTH_TOOL_H_
#define BERTH_CMD_BERTH_TOOL_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace berth::cli {

struct ToolEnd {
  int status = -1;     ///< exit status; 128 + signal when killed by one
  std::string output;  ///< the first MiB of both its outputs, as they came
};

/// Runs a program found in PATH, with our environment and standard input. Errors: kNotFound when there is no such
/// program, else as posix_spawn(3).
Result<ToolEnd> RunTool(const std::vector<std::string>& words);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_TOOL_H_
