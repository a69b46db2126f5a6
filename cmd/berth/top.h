// `berth top`: who uses what, now.
#ifndef BERTH_CMD_BERTH_TOP_H_
#define BERTH_CMD_BERTH_TOP_H_

#include "berth/session.h"

namespace berth::cli {

struct TopOptions {
  bool once = false;  ///< one table, instead of a new one every two seconds on a terminal
};
int RunTop(const TopOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_TOP_H_
