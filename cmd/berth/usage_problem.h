// Wrong command lines: what is wrong, and what was most likely meant.
#ifndef BERTH_CMD_BERTH_USAGE_PROBLEM_H_
#define BERTH_CMD_BERTH_USAGE_PROBLEM_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "berth/registry.h"

namespace berth::cli {

struct UsageProblem {
  std::string where;  ///< "berth", or "berth COMMAND" when the command is known
  std::string text;   ///< one sentence, in words that a person can type
};
/// Of the command line `arguments`, which `parser` refused with `problem`. Names of kubectl, docker, numactl, taskset,
/// htop and lstopo are answered with what does the same here.
UsageProblem FindUsageProblem(const Parser& parser, const std::vector<std::string>& arguments,
                              const CLI::ParseError& problem);

/// The first of `pods` is kubectl's word for what the others are ("delete pod web"): what to say instead; "": it is
/// not.
std::string WhyNoKind(const std::string& command, const std::vector<std::string>& pods);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_USAGE_PROBLEM_H_
