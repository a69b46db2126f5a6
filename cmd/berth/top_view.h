// Screen of `berth top`: its rows, its order and its keys. Pure.
#ifndef BERTH_CMD_BERTH_TOP_VIEW_H_
#define BERTH_CMD_BERTH_TOP_VIEW_H_

#include <optional>
#include <string>
#include <vector>

#include "model/machine.h"
#include "model/pod_view.h"
#include "model/stats_summary.h"
#include "view/usage_table.h"

namespace berth::cli {

/// What was chosen by keys.
struct TopChoices {
  view::UsageOrder order = view::UsageOrder::kCpu;
  std::string filter;
  bool typing = false;  ///< the filter is being typed
  bool places = false;  ///< NUMA nodes and caches instead of pods
  bool help = false;
  int scrolled = 0;  ///< lines of the page that are above the screen
  bool quit = false;
  bool refresh = false;  ///< look again at once
};

/// `page`: lines that a page key moves by.
void PressKey(TopChoices& choices, int key, int page);

/// What there is to show.
struct TopPicture {
  StatsSummary stats;
  PodList pods;
  std::string problem;  ///< why there is nothing newer; "": it is new
};

struct TopLook {
  int width = 80;
  int height = 24;
  bool color = false;
  bool wide = false;  ///< percents of requests and limits, however narrow
};

/// The screen's lines, at most `look.height`, none wider than `look.width`. Keeps choices.scrolled within the page.
std::vector<std::string> TopLines(const TopPicture& picture, const Machine& machine, TopChoices& choices,
                                  const TopLook& look);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_TOP_VIEW_H_
