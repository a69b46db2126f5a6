#include "frontend/nri_agent/known_pod_specs.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace berth::nri_agent {
namespace {

/// Devices are the kubelet's to give.
ResourceList PlacedOf(const ResourceList& all) {
  ResourceList out;
  for (const auto& [name, amount] : all)
    if (name == "cpu" || name == "memory" || name.starts_with("hugepages-")) out.emplace(name, amount);
  return out;
}

Resources PlacedOf(const Resources& all) {
  return {.requests = PlacedOf(all.requests), .limits = PlacedOf(all.limits)};
}

std::vector<Container> PlacedOf(const std::vector<Container>& all) {
  std::vector<Container> out;
  for (const Container& container : all) {
    Container& kept = out.emplace_back();
    kept.name = container.name;
    kept.restartable_init = container.restartable_init;
    kept.resources = PlacedOf(container.resources);
  }
  return out;
}

bool Has(const Pod& pod, std::string_view container) {
  bool out = false;
  ForEachContainer(pod, [&](const Container& c, ContainerKind) { out = out || c.name == container; });
  return out;
}

}  // namespace

void Specs::Set(const Pod& pod) {
  std::string& uid = uid_of_[{pod.namespace_, pod.name}];
  if (uid != pod.uid) specs_.erase(uid);
  uid = pod.uid;
  Pod& spec = specs_[uid];
  spec.init_containers = PlacedOf(pod.init_containers);
  spec.containers = PlacedOf(pod.containers);
  spec.overhead = PlacedOf(pod.overhead);
  spec.resources.reset();
  if (pod.resources) spec.resources = PlacedOf(*pod.resources);
}

void Specs::Forget(const std::string& name_space, const std::string& name) {
  const auto known = uid_of_.find({name_space, name});
  if (known == uid_of_.end()) return;
  specs_.erase(known->second);
  uid_of_.erase(known);
}

const Pod* Specs::Find(const std::string& uid) const {
  const auto known = specs_.find(uid);
  return known == specs_.end() ? nullptr : &known->second;
}

void TakeSpec(Pod& pod, const Pod& spec) {
  std::vector<Container> others;
  for (Container& container : pod.containers)
    if (!Has(spec, container.name)) others.push_back(std::move(container));
  pod.init_containers = spec.init_containers;
  pod.containers = spec.containers;
  pod.containers.insert(pod.containers.end(), others.begin(), others.end());
  pod.overhead = spec.overhead;
  pod.resources = spec.resources;
}

}  // namespace berth::nri_agent
