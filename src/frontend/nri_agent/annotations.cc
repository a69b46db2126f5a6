#include "frontend/nri_agent/annotations.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "model/pod_wishes.h"

namespace berth::nri_agent {
namespace {

constexpr std::string_view kTheirs = "resource-policy.nri.io";
constexpr std::string_view kShared = "prefer-shared-cpus.resource-policy.nri.io";
constexpr std::string_view kUntouched = "cpu.preserve.resource-policy.nri.io";
constexpr std::string_view kPreferIsolated = "prefer-isolated-cpus.resource-policy.nri.io";
constexpr std::string_view kRequireIsolated = "require-isolated-cpus.resource-policy.nri.io";
constexpr std::size_t kLongestKey = 120;

struct Unknown {
  std::string_view key;
  std::string_view why;
};
/// Those whose "false" asks for what is so anyway have no effect without a word.
constexpr std::array<Unknown, 4> kIgnored = {{
    {"prefer-reserved-cpus.resource-policy.nri.io", "reserved CPUs are part of the shared pool"},
    {"hide-hyperthreads.resource-policy.nri.io", "a container has the threads of its cores"},
    {"memory.preserve.resource-policy.nri.io", "memory nodes follow memoryManagerPolicy"},
    {"balloon.balloons.resource-policy.nri.io", "a CPU pool is asked for by berth.dev/pool"},
}};

/// Where an annotation holds for the container: 3 for it alone, 2 for its pod, 1 without a word of it; 0: for others.
int Nearness(std::string_view scope, bool has_scope, std::string_view container) {
  constexpr std::string_view kContainer = "container.";
  if (!has_scope) return 1;
  if (scope == "pod") return 2;
  return scope.starts_with(kContainer) && scope.substr(kContainer.size()) == container ? 3 : 0;
}

}  // namespace

Wishes WishesOf(const nri::Texts& annotations, std::string_view container) {
  struct Nearest {
    int nearness = 0;
    std::string_view value;
  };
  std::map<std::string_view, Nearest> effective;
  for (const auto& [key, value] : annotations) {
    const std::string_view whole = key;
    const std::size_t slash = std::min(whole.find('/'), whole.size());
    const std::string_view name = whole.substr(0, slash);
    if (!name.ends_with(kTheirs)) continue;
    const int nearness = Nearness(whole.substr(std::min(slash + 1, whole.size())), slash < whole.size(), container);
    if (Nearest& known = effective[name]; nearness > known.nearness) known = {.nearness = nearness, .value = value};
  }
  Wishes out;
  for (const auto& [name, nearest] : effective) {
    if (nearest.nearness == 0) continue;
    const std::string_view value = Trim(nearest.value);
    if (name == kShared || name == kUntouched) {
      out.shared = out.shared || value == "true";
      continue;
    }
    if (name == kPreferIsolated || name == kRequireIsolated) {
      if (value == "true" && (name == kRequireIsolated || !out.isolated))
        out.isolated = name == kRequireIsolated ? IsolatedCpus::kRequire : IsolatedCpus::kPrefer;
      continue;
    }
    const auto known = std::ranges::find(kIgnored, name, &Unknown::key);
    if (known != kIgnored.end() && value == "false") continue;
    out.ignored.push_back(Printable(name, kLongestKey) + ": " +
                          std::string(known == kIgnored.end() ? "nothing here is told by it" : known->why));
  }
  return out;
}

std::string IsolatedRefused(const Pod& pod, std::string_view container, const OwnRules& own) {
  PodWishes asks;
  asks.cpu.isolated = WishesOf(pod.annotations, container).isolated;
  if (!asks.cpu.isolated) return "";
  const PodPolicy* const policy = FindPolicy(own.pods, pod.namespace_);
  if (policy != nullptr && WhatIsNotAllowed(*policy, asks).empty()) return "";
  return "isolated CPUs: podPolicies have no rule that lets it have " + WordsOf(asks.cpu).front();
}

Pod AsWished(const Pod& pod, std::string_view container, const OwnRules& own) {
  Pod out = pod;
  const Wishes wishes = WishesOf(pod.annotations, container);
  if (QosOf(pod) == QosClass::kGuaranteed && wishes.shared) out.status_qos = QosClass::kBurstable;
  if (!wishes.isolated || !IsolatedRefused(pod, container, own).empty()) return out;
  std::string& options = out.annotations[std::string(kCpuOptionsAnnotation)];
  if (const auto said = ParseCpuWishes(options); !said || said->isolated) return out;  // Berth's own counts
  CpuWishes isolated;
  isolated.isolated = wishes.isolated;
  options += (options.empty() ? "" : ", ") + WordsOf(isolated).front();
  return out;
}

}  // namespace berth::nri_agent
