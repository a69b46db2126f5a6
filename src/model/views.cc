#include <algorithm>

#include "model/event.h"
#include "model/node_snapshot.h"
#include "model/operation_results.h"
#include "model/pod_view.h"

namespace berth {

std::string_view Name(EventType type) { return type == EventType::kNormal ? "Normal" : "Warning"; }

std::string_view Name(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending: return "Pending";
    case PodPhase::kRunning: return "Running";
    case PodPhase::kSucceeded: return "Succeeded";
    case PodPhase::kFailed: return "Failed";
  }
  return "";
}

std::string_view Name(RequestsFrom from) {
  switch (from) {
    case RequestsFrom::kManifest: return "manifest";
    case RequestsFrom::kApiServer: return "apiServer";
    case RequestsFrom::kRuntime: return "runtime";
  }
  return "";
}

std::string_view Name(ContainerPhase phase) {
  switch (phase) {
    case ContainerPhase::kWaiting: return "waiting";
    case ContainerPhase::kRunning: return "running";
    case ContainerPhase::kExited: return "exited";
  }
  return "";
}

std::string_view Name(StoreAction action) {
  switch (action) {
    case StoreAction::kCreated: return "created";
    case StoreAction::kConfigured: return "configured";
    case StoreAction::kUnchanged: return "unchanged";
  }
  return "";
}

std::string FullName(const PodView& pod) { return pod.namespace_ + "/" + pod.name; }

CpuSet PoolCpusOf(const ContainerPlace& place, const CpuSet& shared) {
  return place.pool.empty() ? PartOfPool(place.node_cpus, shared) : place.pool_cpus;
}

std::optional<CpuSet> CpusOf(const ContainerView& container, const CpuSet& shared) {
  if (!container.place) return std::nullopt;
  if (container.place->cpus) return container.place->cpus;
  return container.place->pool.empty() ? shared : container.place->pool_cpus;
}

const PodSnapshot* FindPod(const NodeSnapshot& snapshot, std::string_view namespace_, std::string_view name) {
  const auto it = std::ranges::find_if(snapshot.pods, [&](const PodSnapshot& pod) {
    return pod.view->namespace_ == namespace_ && pod.view->name == name;
  });
  return it == snapshot.pods.end() ? nullptr : &*it;
}

}  // namespace berth
