// Two looks at the node as what changed between them. Pure.
#ifndef BERTH_API_WEB_FEED_FRAMES_H_
#define BERTH_API_WEB_FEED_FRAMES_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/node_snapshot.h"
#include "model/stats_summary.h"

namespace berth::web {

/// One event as it goes over the wire. `data`: one line.
std::string FormatServerEvent(std::string_view name, std::string_view data);

/// {"shared":"0-3"}.
std::string SharedData(const NodeSnapshot& snapshot);

/// Events "pods" and "events" that make `before` `now`; of many pods several, none of them large.
std::vector<std::string> FramesBetween(const NodeSnapshot& before, const NodeSnapshot& now);

/// The event "stats": the node, and pods whose figures differ by what can be seen from those in `told`, which becomes
/// what was told.
std::string StatsFrame(const StatsSummary& stats, std::map<std::string, std::string>& told);

}  // namespace berth::web

#endif  // BERTH_API_WEB_FEED_FRAMES_H_
