#include "manifest/pod_wishes_check.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/name_validation.h"
#include "base/suggest.h"
#include "base/text.h"
#include "model/pod_wishes.h"
#include "model/resources.h"

namespace berth::manifest {
namespace {

constexpr std::size_t kLongestName = 63;

/// Of containers named in an annotation; "": the pod has them all.
template <class Wish>
std::string UnknownContainer(const Pod& pod, const std::map<std::string, Wish, std::less<>>& named) {
  std::vector<std::string_view> names;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) { names.push_back(container.name); });
  for (const auto& [name, wish] : named) {
    if (name.empty() || std::ranges::find(names, name) != names.end()) continue;
    std::string out = "the pod has no container \"" + Printable(name, kLongestName) + "\"";
    if (const std::string_view near = Nearest(name, names); !near.empty())
      out += " (did you mean \"" + Printable(near, kLongestName) + "\"?)";
    return out;
  }
  return "";
}

std::string ProblemOfCpus(const Pod& pod, const PodWishes& wishes) {
  std::string out;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    const ContainerCpuWish* const wish = wishes.Of(container.name);
    if (wish == nullptr || !out.empty()) return;
    const Quantity request = AmountOf(container.resources.requests, "cpu");
    if (request < Quantity::FromUnits(wish->cpus))
      out = "container \"" + Printable(container.name, kLongestName) + "\" requests " + request.ToString() +
            " CPUs: exclusive ones come out of the request, so request at least " + std::to_string(wish->cpus);
  });
  return out.empty() ? UnknownContainer(pod, wishes.cpus) : out;
}

}  // namespace

void CheckWishes(const Pod& pod, const Path& root, Report& report) {
  std::vector<WishProblem> problems;
  const PodWishes wishes = ParsePodWishes(pod.annotations, problems);
  if (std::string bad = ProblemOfCpus(pod, wishes); !bad.empty())
    problems.push_back({std::string(kCpusAnnotation), std::move(bad)});
  if (std::string bad = UnknownContainer(pod, wishes.pools); !bad.empty())
    problems.push_back({std::string(kPoolAnnotation), std::move(bad)});
  const Path metadata{.parent = &root, .key = "metadata"};
  const Path annotations{.parent = &metadata, .key = "annotations"};
  for (const WishProblem& problem : problems)
    report.Problem(Path{.parent = &annotations, .key = problem.annotation, .index = -1, .entry = true},
                   "Invalid value: " + problem.text);
}

void WarnOfUnknownWishes(const Pod& pod, const Path& root, Report& report) {
  const Path metadata{.parent = &root, .key = "metadata"};
  const Path annotations{.parent = &metadata, .key = "annotations"};
  for (const WishProblem& unknown : UnknownWishes(pod.annotations))
    report.Warn(Path{.parent = &annotations, .key = unknown.annotation, .index = -1, .entry = true}, unknown.text);
}

}  // namespace berth::manifest
