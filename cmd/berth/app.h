// The whole `berth` program but main().
#ifndef BERTH_CMD_BERTH_APP_H_
#define BERTH_CMD_BERTH_APP_H_

#include <ostream>
#include <string>
#include <vector>

#include "berth/command_context.h"

namespace berth::cli {

/// Runs one command line (without the program's name). Errors go to `err` and become exit statuses.
int RunBerth(const std::vector<std::string>& arguments, const Surroundings& around, std::ostream& out,
             std::ostream& err);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_APP_H_
