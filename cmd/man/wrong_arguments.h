// Refusal of a daemon's command line.
#ifndef BERTH_CMD_MAN_WRONG_ARGUMENTS_H_
#define BERTH_CMD_MAN_WRONG_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <string>

namespace berth::man {

/// What `problem` says of the command line of `app`, with the option that was perhaps meant, and where to look.
std::string FormatRefusal(const CLI::App& app, const CLI::ParseError& problem);

}  // namespace berth::man

#endif  // BERTH_CMD_MAN_WRONG_ARGUMENTS_H_
