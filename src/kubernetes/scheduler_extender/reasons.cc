#include "kubernetes/scheduler_extender/reasons.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace berth::scheduler_extender {
namespace {

constexpr std::string_view kCommonReason = "Berth: the pod finds no place there";

struct Group {
  std::size_t nodes = 0;
  std::size_t first = 0;  // position of the first
  std::string_view reason;
};

/// The reasons that stay: of the most nodes, among equals those met first. Views into `refused`.
std::set<std::string_view> Kept(const std::vector<Refusal>& refused) {
  std::map<std::string_view, Group> groups;
  for (std::size_t i = 0; i < refused.size(); ++i) {
    Group& group = groups[refused[i].reason];
    if (group.nodes++ == 0) group = {.nodes = 1, .first = i, .reason = refused[i].reason};
  }
  std::vector<Group> order;
  order.reserve(groups.size());
  for (const auto& [reason, group] : groups) order.push_back(group);
  std::ranges::sort(
      order, [](const Group& a, const Group& b) { return a.nodes != b.nodes ? a.nodes > b.nodes : a.first < b.first; });
  // One place is the common reason's.
  if (order.size() > kMostReasons) order.resize(kMostReasons - 1);
  std::set<std::string_view> out;
  for (const Group& group : order) out.insert(group.reason);
  return out;
}

std::string CutReason(std::string text) {
  if (text.size() <= kMostReasonBytes) return text;
  std::size_t end = kMostReasonBytes - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not within a character
  text.resize(end);
  return text += "...";
}

}  // namespace

void Shorten(std::vector<Refusal>& refused) {
  const std::set<std::string_view> kept = Kept(refused);
  std::map<std::string_view, std::size_t> nodes;
  for (const Refusal& refusal : refused) ++nodes[refusal.reason];
  std::vector<std::string> reasons;
  reasons.reserve(refused.size());
  for (const Refusal& refusal : refused) {
    if (!kept.contains(refusal.reason)) {
      reasons.emplace_back(kCommonReason);
    } else {
      const bool alone = nodes[refusal.reason] == 1;
      reasons.push_back(CutReason(alone ? refusal.node + ": " + refusal.reason : refusal.reason));
    }
  }
  for (std::size_t i = 0; i < refused.size(); ++i) refused[i].reason = std::move(reasons[i]);
}

}  // namespace berth::scheduler_extender
