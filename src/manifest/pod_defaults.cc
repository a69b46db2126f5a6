// The API server's defaults, for pods that never met one.
#include "manifest/manifest.h"
#include "model/resources.h"

namespace berth::manifest {
namespace {

/// The tag decides: none (and no digest) or "latest" may move, so the image is pulled again each time.
std::string PullPolicyFor(std::string_view image) {
  const std::size_t at = image.find('@');
  const bool has_digest = at != std::string_view::npos;
  std::string_view name = image.substr(0, at);
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0; a ':' before it belongs to a port
  const std::size_t colon = name.find(':');
  const std::string_view tag = colon == std::string_view::npos ? "" : name.substr(colon + 1);
  return tag == "latest" || (tag.empty() && !has_digest) ? "Always" : "IfNotPresent";
}

void DefaultContainer(Container& c) {
  for (const auto& [name, limit] : c.resources.limits) c.resources.requests.try_emplace(name, limit);
  if (c.image_pull_policy.empty() && !c.image.empty()) c.image_pull_policy = PullPolicyFor(c.image);
}

/// The containers' totals alone: no overhead, no pod-level values.
Pod ContainersOf(const Pod& pod) {
  Pod out = pod;
  out.resources.reset();
  out.overhead.clear();
  return out;
}

/// Limits of hugepages come from the containers; requests from the containers, then from the limits.
void DefaultPodLevel(Pod& pod) {
  if (!pod.resources) return;
  ResourceList& requests = pod.resources->requests;
  ResourceList& limits = pod.resources->limits;
  const Pod containers = ContainersOf(pod);
  if (!requests.empty() || !limits.empty())
    for (const auto& [name, total] : PodLimits(containers))
      if (IsHugePages(name)) limits.try_emplace(name, total);
  if (limits.empty()) return;
  for (const auto& [name, total] : PodRequests(containers))
    if (CountsAtPodLevel(name)) requests.try_emplace(name, total);
  for (const auto& [name, limit] : limits)
    if (CountsAtPodLevel(name)) requests.try_emplace(name, limit);
}

}  // namespace

void ApplyDefaults(Pod& pod) {
  for (Container& c : pod.init_containers) DefaultContainer(c);
  for (Container& c : pod.containers) DefaultContainer(c);
  DefaultPodLevel(pod);
}

}  // namespace berth::manifest
