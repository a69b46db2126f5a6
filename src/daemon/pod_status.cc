#include "daemon/pod_status.h"

#include <algorithm>
#include <utility>

#include "daemon/adopt.h"

namespace berth::daemon {
namespace {

using codec::Json;

Json DevicesJson(const Placement& placement) {
  Json out = Json::object();
  for (const DeviceAssignment& device : placement.devices) out[device.resource] = device.ids;
  return out;
}

void AddPlacement(Json& out, const PodManager& manager, const ManagedPod& managed, const std::string& container) {
  const auto record = manager.ledger().pods.find(managed.pod.uid);
  if (record == manager.ledger().pods.end()) return;
  const Placement* placement = FindPlacement(record->second, container);
  const bool exclusive = placement != nullptr && placement->cpus.has_value();
  out["cpus"] = FormatIds(exclusive ? *placement->cpus : SharedCpus(manager.node(), manager.ledger()));
  out["exclusive"] = exclusive;
  if (placement != nullptr) {
    out["memoryNodes"] = FormatIds(MemoryNodes(*placement));
    out["devices"] = DevicesJson(*placement);
    out["hint"] = placement->hint ? codec::ToJson(*placement->hint) : Json(nullptr);
  }
  out["cgroup"] = manager.groups().ContainerPathOf(managed.pod, container);
}

const Container* FindContainer(const Pod& pod, const std::string& name) {
  const Container* found = nullptr;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    if (container.name == name) found = &container;
  });
  return found;
}

/// The newest attempt, once it has ended; null before.
Json LastEndJson(const runtime::ContainerView& view) {
  if (view.last_end.empty()) return nullptr;
  return {{"attempt", view.last->attempt},
          {"exitCode", view.last->exit_code ? Json(*view.last->exit_code) : Json(nullptr)},
          {"reason", view.last_end},
          {"message", view.last->message},
          {"finishedAt", view.last->finished_at}};
}

Json ContainerJson(const PodManager& manager, const ManagedPod& managed, const runtime::ContainerView& view) {
  const Container* const container = FindContainer(managed.pod, view.name);
  Json out = {{"name", view.name},
              {"kind", std::string(Name(view.kind))},
              {"image", container != nullptr ? container->image : ""},
              {"id", view.last ? view.last->id : ""},
              {"state", std::string(Name(view.state))},
              {"reason", view.reason},
              {"message", view.message}};
  if (view.last) {
    if (view.state == runtime::ContainerView::State::kRunning && view.last->pid > 0) out["pid"] = view.last->pid;
    if (view.last->exit_code) out["exitCode"] = *view.last->exit_code;
    out["startedAt"] = view.last->started_at;
    if (!view.last->finished_at.empty()) out["finishedAt"] = view.last->finished_at;
    out["logPath"] = view.last->log_path;
  }
  out["restarts"] = view.restarts;
  out["lastEnd"] = LastEndJson(view);
  AddPlacement(out, manager, managed, view.name);
  return out;
}

std::vector<runtime::ContainerView> ViewsOf(const ManagedPod& managed) {
  if (managed.lifecycle) return managed.lifecycle->containers();
  std::vector<runtime::ContainerView> out;  // nothing was started: only what the manifest says
  ForEachContainer(managed.pod, [&](const Container& container, ContainerKind kind) {
    runtime::ContainerView view;
    view.name = container.name;
    view.kind = kind;
    out.push_back(std::move(view));
  });
  return out;
}

std::string SourceOf(const Pod& pod) {
  const auto it = pod.annotations.find("kubernetes.io/config.source");
  return it != pod.annotations.end() ? it->second : "";
}

}  // namespace

std::string EventObject(const Pod& pod) { return "pod/" + FullName(pod); }

std::string PhaseOf(const ManagedPod& managed) {
  if (managed.stage == ManagedPod::Stage::kRejected) return "Failed";
  if (managed.stage == ManagedPod::Stage::kWaiting || !managed.lifecycle) return "Pending";
  return std::string(Name(managed.lifecycle->phase()));
}

Json PodStatus(const PodManager& manager, const ManagedPod& managed) {
  const Pod& pod = managed.pod;
  Json out = {{"namespace", pod.namespace_}, {"name", pod.name},     {"uid", pod.uid},
              {"source", SourceOf(pod)},     {"file", managed.file}, {"qosClass", std::string(Name(QosOf(pod)))},
              {"phase", PhaseOf(managed)}};
  out["reason"] = managed.ending ? "Terminating" : managed.reason;
  out["message"] = managed.message;
  out["details"] = managed.details;
  out["admittedAt"] = managed.admitted_at;
  const auto record = manager.ledger().pods.find(pod.uid);
  out["requests"] = codec::ToJson(record != manager.ledger().pods.end() ? record->second.requests : PodRequests(pod));
  Json containers = Json::array();
  for (const runtime::ContainerView& view : ViewsOf(managed))
    containers.push_back(ContainerJson(manager, managed, view));
  out["containers"] = std::move(containers);
  return out;
}

Json PodDetails(const PodManager& manager, const ManagedPod& managed) {
  Json out = PodStatus(manager, managed);
  out["trace"] = codec::ToJson(managed.trace);
  out["manifest"] = codec::ToJson(managed.pod);
  return out;
}

Json ToJson(const Event& event) {
  return {{"time", os::FormatTime(event.time)},
          {"type", std::string(Name(event.type))},
          {"reason", event.reason},
          {"object", event.object},
          {"message", event.message},
          {"count", event.count}};
}

}  // namespace berth::daemon
