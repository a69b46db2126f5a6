#include "frontend/nri_agent/ignored_annotations.h"

#include <fmt/core.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "base/text.h"
#include "frontend/nri_agent/annotations.h"
#include "model/pod_wishes.h"

namespace berth::nri_agent {
namespace {

/// The first of them, and how many more there are. A pod may have thousands.
std::vector<std::string> FirstIgnored(std::vector<std::string> all) {
  constexpr std::size_t kMostIgnoredTold = 10;
  if (all.size() <= kMostIgnoredTold) return all;
  const std::size_t more = all.size() - kMostIgnoredTold;
  all.resize(kMostIgnoredTold);
  all.push_back(fmt::format("and {} more annotations have no effect", more));
  return all;
}

}  // namespace

void WarnOfIgnoredAnnotations(const core::Node& node, TrackedPod& tracked, const Pod& pod, const std::string& name) {
  if (!std::exchange(tracked.unknown_told, true)) {
    std::vector<std::string> all_unknown;
    for (const WishProblem& unknown : UnknownWishes(pod.annotations))
      all_unknown.push_back(fmt::format("{}: {}", Printable(unknown.annotation), unknown.text));
    for (std::string& unknown : FirstIgnored(std::move(all_unknown)))
      node.events().Warning("AnnotationIgnored", pods::ObjectOf(pod), std::move(unknown));
  }
  std::vector<std::string> all = WishesOf(pod.annotations, name).ignored;
  if (std::string refused = IsolatedRefused(pod, name, node.allocations().node().options().own); !refused.empty())
    all.insert(all.begin(), std::move(refused));
  for (const std::string& ignored : FirstIgnored(std::move(all)))
    node.events().Warning("AnnotationIgnored", pods::ObjectOf(pod), fmt::format("container {}: {}", name, ignored));
}

}  // namespace berth::nri_agent
