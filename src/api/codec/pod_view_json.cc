#include <memory>

#include "api/codec/json_parts.h"
#include "model/placement.h"

namespace berth::codec {
namespace {

/// null for nothing.
Json OptionalJson(const std::optional<int>& value) { return value ? Json(*value) : Json(); }

std::optional<int> ReadOptional(const Reader& reader) {
  return reader.IsNull() ? std::nullopt : std::optional(reader.Integer<int>());
}

Json EndJson(const std::optional<ContainerEnd>& end) {
  if (!end) return nullptr;
  return {{"attempt", end->attempt},
          {"exitCode", OptionalJson(end->exit_code)},
          {"reason", end->reason},
          {"message", end->message},
          {"finishedAt", end->finished_at}};
}

std::optional<ContainerEnd> ReadEnd(const Reader& reader) {
  if (reader.IsNull()) return std::nullopt;
  return ContainerEnd{.attempt = reader.Field("attempt").Integer<int>(),
                      .exit_code = ReadOptional(reader.Field("exitCode")),
                      .reason = reader.Field("reason").String(),
                      .message = reader.Field("message").String(),
                      .finished_at = reader.Field("finishedAt").String()};
}

void AddRun(Json& out, const ContainerRun& run) {
  if (run.pid > 0) out["pid"] = run.pid;
  if (run.exit_code) out["exitCode"] = *run.exit_code;
  out["startedAt"] = run.started_at;
  if (!run.finished_at.empty()) out["finishedAt"] = run.finished_at;
  out["logPath"] = run.log_path;
}

std::optional<ContainerRun> ReadRun(const Reader& reader) {
  if (!reader.Has("startedAt")) return std::nullopt;
  ContainerRun run;
  if (reader.Has("pid")) run.pid = reader.Field("pid").Integer<int>();
  if (reader.Has("exitCode")) run.exit_code = reader.Field("exitCode").Integer<int>();
  run.started_at = reader.Field("startedAt").String();
  if (reader.Has("finishedAt")) run.finished_at = reader.Field("finishedAt").String();
  run.log_path = reader.Field("logPath").String();
  return run;
}

void AddPlace(Json& out, const ContainerPlace& place, const CpuSet& shared) {
  out["cpus"] = FormatIds(place.cpus ? *place.cpus : PoolCpusOf(place, shared));
  out["exclusive"] = place.cpus.has_value();
  if (!place.pool.empty()) out["pool"] = place.pool;
  if (place.mixed || !place.node_cpus.empty() || !place.pool.empty()) out["sharedCpus"] = FormatIds(shared);
  if (!place.node_cpus.empty()) out["nodeCpus"] = FormatIds(place.node_cpus);
  if (place.known) {
    out["memoryNodes"] = FormatIds(place.memory_nodes);
    Json devices = Json::object();
    for (const DeviceAssignment& device : place.devices) devices[device.resource] = device.ids;
    out["devices"] = std::move(devices);
    if (place.devices_reported) out["devicesReported"] = true;
    out["hint"] = place.hint ? ToJson(*place.hint) : Json();
  }
  out["cgroup"] = place.cgroup;
}

std::optional<ContainerPlace> ReadPlace(const Reader& reader, CpuSet& shared) {
  if (!reader.Has("cgroup")) return std::nullopt;
  ContainerPlace place;
  CpuSet cpus = reader.Field("cpus").Ids<CpuSet>();
  if (reader.Field("exclusive").Bool())
    place.cpus = std::move(cpus);
  else if (reader.Has("pool"))
    place.pool_cpus = std::move(cpus);
  else
    shared = std::move(cpus);
  if (reader.Has("pool")) place.pool = reader.Field("pool").String();
  if (reader.Has("nodeCpus")) place.node_cpus = reader.Field("nodeCpus").Ids<CpuSet>();
  if (reader.Has("sharedCpus")) shared = reader.Field("sharedCpus").Ids<CpuSet>();
  place.mixed = reader.Has("sharedCpus") && place.node_cpus.empty() && place.pool.empty();
  place.known = reader.Has("hint");
  if (place.known) {
    place.memory_nodes = reader.Field("memoryNodes").Ids<NodeSet>();
    for (const auto& [resource, ids] : reader.Field("devices").Members())
      place.devices.push_back({resource, ids.Strings()});
    place.devices_reported = reader.Has("devicesReported") && reader.Field("devicesReported").Bool();
    if (const Reader hint = reader.Field("hint"); !hint.IsNull()) place.hint = ReadHint(hint);
  }
  place.cgroup = reader.Field("cgroup").String();
  return place;
}

Json ContainerJson(const ContainerView& container, const CpuSet& shared) {
  Json out = {
      {"name", container.name},      {"kind", std::string(Name(container.kind))},   {"image", container.image},
      {"id", container.id},          {"state", std::string(Name(container.phase))}, {"reason", container.reason},
      {"message", container.message}};
  if (container.last) AddRun(out, *container.last);
  out["restarts"] = container.restarts;
  out["started"] = container.started;
  out["ready"] = container.ready;
  out["lastEnd"] = EndJson(container.last_end);
  if (container.place) AddPlace(out, *container.place, shared);
  return out;
}

ContainerView ReadContainer(const Reader& reader, CpuSet& shared) {
  ContainerView out;
  out.name = reader.Field("name").String();
  out.kind = ReadContainerKind(reader.Field("kind"));
  out.image = reader.Field("image").String();
  out.id = reader.Field("id").String();
  out.phase =
      reader.Field("state").OneOf({ContainerPhase::kWaiting, ContainerPhase::kRunning, ContainerPhase::kExited});
  out.reason = reader.Field("reason").String();
  out.message = reader.Field("message").String();
  out.last = ReadRun(reader);
  out.restarts = reader.Field("restarts").Integer<int>();
  out.started = reader.Has("started") && reader.Field("started").Bool();
  out.ready = reader.Has("ready") && reader.Field("ready").Bool();
  out.last_end = ReadEnd(reader.Field("lastEnd"));
  out.place = ReadPlace(reader, shared);
  return out;
}

Json ResizeJson(const ResizeView& resize) {
  return {{"condition", resize.in_progress ? "PodResizeInProgress" : "PodResizePending"},
          {"reason", resize.reason},
          {"message", resize.message},
          {"details", resize.details},
          {"requests", ToJson(resize.requests)}};
}

ResizeView ReadResize(const Reader& reader) {
  return {.in_progress = reader.Field("condition").String() == "PodResizeInProgress",
          .reason = reader.Field("reason").String(),
          .message = reader.Field("message").String(),
          .details = reader.Field("details").Strings(),
          .requests = reader.Field("requests").Resources()};
}

std::shared_ptr<const PodView> ReadView(const Reader& reader, CpuSet& shared) {
  PodView out;
  out.namespace_ = reader.Field("namespace").String();
  out.name = reader.Field("name").String();
  out.uid = reader.Field("uid").String();
  out.source = reader.Field("source").String();
  out.file = reader.Field("file").String();
  out.qos = ReadQos(reader.Field("qosClass"));
  out.phase =
      reader.Field("phase").OneOf({PodPhase::kPending, PodPhase::kRunning, PodPhase::kSucceeded, PodPhase::kFailed});
  out.ready = reader.Has("ready") && reader.Field("ready").Bool();
  out.reason = reader.Field("reason").String();
  out.message = reader.Field("message").String();
  out.details = reader.Field("details").Strings();
  out.admitted_at = ReadTime(reader.Field("admittedAt"));
  out.requests = reader.Field("requests").Resources();
  if (reader.Has("limits")) out.limits = reader.Field("limits").Resources();
  if (reader.Has("requestsFrom"))
    out.requests_from =
        reader.Field("requestsFrom").OneOf({RequestsFrom::kManifest, RequestsFrom::kApiServer, RequestsFrom::kRuntime});
  if (reader.Has("queuePlace")) out.queue_place = reader.Field("queuePlace").Integer<int>();
  if (reader.Has("addresses")) out.addresses = reader.Field("addresses").Strings();
  if (reader.Has("labels"))
    for (const auto& [name, value] : reader.Field("labels").Members()) out.labels.emplace(name, value.String());
  for (const Reader& item : reader.Field("containers").Items()) out.containers.push_back(ReadContainer(item, shared));
  if (reader.Has("resize")) out.resize = ReadResize(reader.Field("resize"));
  return std::make_shared<const PodView>(std::move(out));
}

}  // namespace

Json ToJson(const PodView& pod, const CpuSet& shared) {
  Json out = {
      {"namespace", pod.namespace_},
      {"name", pod.name},
      {"uid", pod.uid},
      {"source", pod.source},
      {"file", pod.file},
      {"qosClass", std::string(Name(pod.qos))},
      {"phase", std::string(Name(pod.phase))},
      {"ready", pod.ready},
      {"reason", pod.reason},
      {"message", pod.message},
      {"details", pod.details},
      {"admittedAt", TimeJson(pod.admitted_at)},
      {"requests", ToJson(pod.requests)},
      {"limits", ToJson(pod.limits)},
      {"containers", ListJson(pod.containers, [&](const ContainerView& c) { return ContainerJson(c, shared); })}};
  if (pod.requests_from != RequestsFrom::kManifest) out["requestsFrom"] = std::string(Name(pod.requests_from));
  if (!pod.addresses.empty()) out["addresses"] = pod.addresses;
  if (!pod.labels.empty()) out["labels"] = pod.labels;
  if (pod.resize) out["resize"] = ResizeJson(*pod.resize);
  if (pod.queue_place > 0) out["queuePlace"] = pod.queue_place;
  return out;
}

Json ToJson(const PodList& pods) {
  return {{"pods", ListJson(pods.pods, [&](const auto& pod) { return ToJson(*pod, pods.shared); })}};
}

Json ToJson(const PodDetails& pod) {
  Json out = ToJson(*pod.view, pod.shared);
  out["trace"] = ToJson(pod.trace);
  out["kubeletVersion"] = Name(pod.kubelet_version);
  out["manifest"] = ToJson(pod.manifest);
  out["events"] = ListJson(pod.events);
  return out;
}

Result<PodList> PodListFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    PodList out;
    for (const Reader& item : reader.Field("pods").Items()) out.pods.push_back(ReadView(item, out.shared));
    return out;
  });
}

Result<PodDetails> PodDetailsFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    PodDetails out;
    out.view = ReadView(reader, out.shared);
    out.trace = ReadTrace(reader.Field("trace"));
    out.kubelet_version = ReadKubeletVersion(reader);
    out.manifest = ReadPod(reader.Field("manifest"));
    out.events = ReadEvents(reader.Field("events"));
    return out;
  });
}

}  // namespace berth::codec
