#include "model/resize_changes.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/pod_wishes.h"
#include "model/resources.h"

namespace berth {
namespace {

void DropAmounts(Resources& resources) {
  const auto drops = [](const auto& entry) { return CountsAtPodLevel(entry.first); };
  std::erase_if(resources.requests, drops);
  std::erase_if(resources.limits, drops);
}

template <class Visit>
void ForEachMutable(Pod& pod, const Visit& visit) {
  for (Container& c : pod.init_containers) visit(c);
  for (Container& c : pod.containers) visit(c);
}

using CpuWishesByName = std::map<std::string, ContainerCpuWish, std::less<>>;

/// Of the annotation berth.dev/cpus; {}: there is none, or it is none that is understood.
CpuWishesByName CpusAskedFor(const Pod& pod) {
  const std::string key(kCpusAnnotation);
  const auto annotation = pod.annotations.find(key);
  if (annotation == pod.annotations.end()) return {};
  std::vector<WishProblem> problems;
  CpuWishesByName out = ParsePodWishes({{key, annotation->second}}, problems).cpus;
  return problems.empty() ? std::move(out) : CpuWishesByName();
}

void DropNumbers(Pod& pod) {
  CpuWishesByName cpus = CpusAskedFor(pod);
  if (cpus.empty()) return;
  for (auto& [container, wish] : cpus) wish.cpus = 0;
  pod.annotations[std::string(kCpusAnnotation)] = FormatCpuWishes(cpus);
}

void CopyAnnotation(std::string_view name, const Pod& from, Pod& to) {
  const std::string key(name);
  to.annotations.erase(key);
  if (const auto found = from.annotations.find(key); found != from.annotations.end()) to.annotations.insert(*found);
}

/// A limit or request that is there and shall not be any more.
std::optional<NotResizable> WhatIsRemoved(const ResourceList& now, const ResourceList& wanted,
                                          const std::string& path) {
  for (const auto& [resource, amount] : now)
    if (!wanted.contains(resource))
      return NotResizable{path + "." + resource, "it cannot be removed while the pod runs"};
  return std::nullopt;
}

std::optional<NotResizable> WhyNot(const Container& now, const Container& wanted, bool resizable,
                                   const std::string& path) {
  if (now.resources == wanted.resources) return std::nullopt;
  if (!resizable) return NotResizable{path, "of init containers only sidecars can be resized"};
  if (auto removed = WhatIsRemoved(now.resources.requests, wanted.resources.requests, path + ".requests"))
    return removed;
  return WhatIsRemoved(now.resources.limits, wanted.resources.limits, path + ".limits");
}

bool Differs(const Resources& a, const Resources& b, const std::string& resource) {
  return AmountOf(a.requests, resource) != AmountOf(b.requests, resource) ||
         AmountOf(a.limits, resource) != AmountOf(b.limits, resource);
}

}  // namespace

Pod WithoutAmounts(Pod pod) {
  ForEachMutable(pod, [](Container& c) { DropAmounts(c.resources); });
  if (pod.resources) DropAmounts(*pod.resources);
  pod.annotations.erase(std::string(kKeepCpusAnnotation));
  DropNumbers(pod);
  return pod;
}

void TakeAmounts(Pod& pod, const Pod& from) {
  SetAllocated(pod, AllocatedOf(from));
  pod.resources = from.resources;
  CopyAnnotation(kKeepCpusAnnotation, from, pod);
  CopyAnnotation(kCpusAnnotation, from, pod);
}

AllocatedResources AllocatedOf(const Pod& pod) {
  AllocatedResources out;
  ForEachContainer(pod, [&](const Container& c, ContainerKind) { out.emplace(c.name, c.resources); });
  return out;
}

void SetAllocated(Pod& pod, const AllocatedResources& allocated) {
  ForEachMutable(pod, [&](Container& c) {
    if (const auto known = allocated.find(c.name); known != allocated.end()) c.resources = known->second;
  });
}

void SetOwnCpus(Pod& pod, const std::map<std::string, int, std::less<>>& cpus) {
  const CpuWishesByName asked = CpusAskedFor(pod);
  CpuWishesByName each;  // by name, also those that are not named there
  bool differs = false;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    auto wish = asked.find(container.name);
    if (wish == asked.end()) wish = asked.find("");
    if (wish == asked.end()) return;
    ContainerCpuWish& own = each.emplace(container.name, wish->second).first->second;
    const auto number = cpus.find(container.name);
    if (own.kind == ContainerCpuWish::Kind::kShared || number == cpus.end() || number->second == own.cpus) return;
    own.cpus = number->second;
    differs = true;
  });
  if (differs) pod.annotations[std::string(kCpusAnnotation)] = FormatCpuWishes(each);
}

std::optional<NotResizable> WhyNotResizable(const Pod& now, const Pod& wanted) {
  if (now.resources != wanted.resources)
    return NotResizable{"spec.resources", "resources of the pod as a whole cannot be changed while it runs"};
  for (std::size_t i = 0; i < now.init_containers.size() && i < wanted.init_containers.size(); ++i)
    if (auto why = WhyNot(now.init_containers[i], wanted.init_containers[i], now.init_containers[i].restartable_init,
                          "spec.initContainers[" + std::to_string(i) + "].resources"))
      return why;
  for (std::size_t i = 0; i < now.containers.size() && i < wanted.containers.size(); ++i)
    if (auto why = WhyNot(now.containers[i], wanted.containers[i], true,
                          "spec.containers[" + std::to_string(i) + "].resources"))
      return why;
  if (QosOf(now) != QosOf(wanted))
    return NotResizable{"spec.containers", "Pod QOS Class may not change as a result of resizing (it is " +
                                               std::string(Name(QosOf(now))) + ", and would be " +
                                               std::string(Name(QosOf(wanted))) + ")"};
  if (auto kept = KeptCpus(wanted); !kept)
    return NotResizable{"metadata.annotations[" + std::string(kKeepCpusAnnotation) + "]", kept.error().message};
  return std::nullopt;
}

Result<std::map<std::string, CpuSet>> KeptCpus(const Pod& pod) {
  std::map<std::string, CpuSet> out;
  const auto annotation = pod.annotations.find(std::string(kKeepCpusAnnotation));
  if (annotation == pod.annotations.end()) return out;
  std::string_view left = annotation->second;
  while (!left.empty()) {
    const std::string_view one = left.substr(0, left.find(';'));
    left.remove_prefix(std::min(left.size(), one.size() + 1));
    const std::size_t equals = one.find('=');
    const auto cpus =
        equals == std::string_view::npos ? Result<CpuSet>(CpuSet()) : CpuSet::Parse(one.substr(equals + 1));
    if (equals == std::string_view::npos || !cpus || cpus->empty() ||
        !out.emplace(std::string(one.substr(0, equals)), *cpus).second)
      return Fail(Code::kInvalid, "\"" + Printable(annotation->second) +
                                      "\": expected CPUs for each container once, as in \"main=2-3;side=5\"");
  }
  return out;
}

std::map<std::string, std::string> RestartedByResize(const Pod& now, const Pod& wanted) {
  const AllocatedResources before = AllocatedOf(now);
  std::map<std::string, std::string> out;
  ForEachContainer(wanted, [&](const Container& c, ContainerKind) {
    const auto known = before.find(c.name);
    if (known == before.end()) return;
    for (const std::string& resource : c.restart_to_resize)
      if (Differs(known->second, c.resources, resource)) out.emplace(c.name, resource);
  });
  return out;
}

}  // namespace berth
