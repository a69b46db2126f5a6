// `berth top`: who uses what, now.
#ifndef BERTH_CMD_BERTH_TOP_COMMAND_H_
#define BERTH_CMD_BERTH_TOP_COMMAND_H_

#include <string>

#include "berth/command_context.h"
#include "view/usage_table.h"

namespace berth::cli {

struct TopOptions {
  bool once = false;  ///< tables as text, also on a terminal
  view::UsageOrder order = view::UsageOrder::kCpu;
  std::string filter;      ///< as view::UsageOptions
  std::string namespace_;  ///< only pods of this one; "": all
  std::string selector;    ///< only pods with these labels, as Selector::Parse
};
int RunTop(const TopOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_TOP_COMMAND_H_
