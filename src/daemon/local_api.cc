#include "daemon/local_api.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "daemon/pod_status.h"
#include "daemon/tree_status.h"
#include "engine/explain.h"
#include "manifest/duration.h"
#include "manifest/manifest.h"
#include "offline/explanation.h"
#include "runtime/log_reader.h"
#include "runtime/time_text.h"
#include "source/static_pod.h"

namespace berth::daemon {
namespace {

using codec::Json;

constexpr std::string_view kRequest = "request";
constexpr std::size_t kMostEvents = 100'000;  // in one answer

}  // namespace

Result<os::WallTime> ParseSince(std::string_view text, os::WallTime now) {
  if (const auto duration = manifest::ParseDuration(text); duration && !text.starts_with('-')) return now - *duration;
  if (const auto time = runtime::ParseTime(text)) return *time;
  return Fail(Code::kInvalid, fmt::format("since={}: must be a time like 2026-01-02T03:04:05Z or a duration like 10m",
                                          Printable(text)));
}

Result<Json> LocalApi::Status() {
  return mailbox_.Ask<Json>([this]() -> Result<Json> {
    Json warnings = facts_.warnings;
    for (const std::string& warning : manager_.Warnings()) warnings.push_back(warning);
    if (history_ != nullptr)
      if (const history::State state = history_->state(); !state.problem.empty())
        warnings.push_back(fmt::format("{}; events wait: {}, lost: {}", state.problem, state.waiting, state.lost));
    const cgroup::Tree& tree = manager_.tree();
    return Json{{"version", facts_.version},
                {"nodeName", manager_.options().node_name},
                {"pid", ::getpid()},
                {"startedAt", facts_.started_at},
                {"cgroupVersion", std::string(cgroup::Name(tree.layout().version))},
                {"runtime", facts_.runtime},
                {"machineSource", manager_.node().machine().source},
                {"ledgerRevision", manager_.ledger().revision},
                {"pods", manager_.pods().size()},
                {"cgroupWrites", tree.writes()},
                {"podFolder", folder_.path()},
                {"cgroupRoot", manager_.options().cgroup_names.root()},
                {"cgroupDriver", std::string(cgroup::Name(manager_.options().cgroup_names.driver()))},
                {"history", history_ == nullptr ? Json() : ToJson(history_->state())},
                {"warnings", std::move(warnings)}};
  });
}

Result<Json> LocalApi::Machine() {
  return mailbox_.Ask<Json>([this]() -> Result<Json> { return codec::ToJson(manager_.node().machine()); });
}

Result<Json> LocalApi::Node() {
  return mailbox_.Ask<Json>([this]() -> Result<Json> {
    const engine::Node& node = manager_.node();
    const KubeletConfiguration& config = node.config();
    return Json{{"capacity", codec::ToJson(node.capacity())},
                {"allocatable", codec::ToJson(node.allocatable())},
                {"reservedCpus", FormatIds(node.reserved_cpus())},
                {"allCpus", FormatIds(node.all_cpus())},
                {"cpuPolicy", config.cpu_manager_policy},
                {"memoryPolicy", config.memory_manager_policy},
                {"topologyPolicy", config.topology_manager_policy},
                {"topologyScope", config.topology_manager_scope},
                {"nodeFit", node.options().node_fit},
                {"kubeletConfiguration", facts_.kubelet_text}};
  });
}

Result<Json> LocalApi::Ledger() {
  return mailbox_.Ask<Json>([this]() -> Result<Json> { return codec::ToJson(manager_.ledger()); });
}

Result<Json> LocalApi::Pods() {
  return mailbox_.Ask<Json>([this]() -> Result<Json> {
    std::vector<const ManagedPod*> order;
    for (const auto& [uid, managed] : manager_.pods()) order.push_back(&managed);
    std::ranges::sort(order, {}, [](const ManagedPod* m) { return std::pair(m->pod.namespace_, m->pod.name); });
    Json pods = Json::array();
    for (const ManagedPod* managed : order) pods.push_back(PodStatus(manager_, *managed));
    return Json{{"pods", std::move(pods)}};
  });
}

Result<Json> LocalApi::Tree() {
  return mailbox_.Ask<Json>([this]() -> Result<Json> { return TreeStatus(manager_); });
}

Result<const ManagedPod*> LocalApi::Find(const std::string& namespace_, const std::string& name) const {
  for (const std::string& candidate : {name, folder_.NameOnNode(name)})
    for (const auto& [uid, managed] : manager_.pods())
      if (managed.pod.namespace_ == namespace_ && managed.pod.name == candidate) return &managed;
  return Fail(Code::kNotFound,
              fmt::format("no pod '{}' in namespace '{}'; see berth pods", Printable(name), Printable(namespace_)));
}

Result<Json> LocalApi::Pod(const std::string& namespace_, const std::string& name) {
  EventFilter filter;
  std::vector<Event> recent;
  BERTH_TRY(Json out, mailbox_.Ask<Json>([&]() -> Result<Json> {
    BERTH_TRY(const ManagedPod* managed, Find(namespace_, name));
    filter.objects = {EventObject(managed->pod)};
    recent = Recent(events_, filter);
    return PodDetails(manager_, *managed);
  }));
  Json& list = out["events"] = Json::array();
  for (const Event& event : WithHistory(std::move(recent), filter, history_).events) list.push_back(ToJson(event));
  return out;
}

Result<Json> LocalApi::ApplyPods(const std::string& manifests) {
  BERTH_TRY(const manifest::ParsedPods parsed, manifest::ParsePods(manifests, kRequest));
  if (parsed.pods.empty()) return Fail(Code::kInvalid, "the request holds no pod");
  BERTH_TRY(const ManifestFiles files,
            mailbox_.Ask<ManifestFiles>([this]() -> Result<ManifestFiles> { return manager_.files(); }));
  BERTH_TRY(const std::vector<StoredPod> stored, folder_.Store(parsed.pods, files));
  Json results = Json::array();
  for (const StoredPod& pod : stored)
    results.push_back({{"namespace", pod.namespace_}, {"name", pod.name}, {"file", pod.file}, {"action", pod.action}});
  Json warnings = Json::array();
  for (const manifest::Warning& warning : parsed.warnings) warnings.push_back(warning.where + ": " + warning.message);
  return Json{{"results", std::move(results)}, {"warnings", std::move(warnings)}};
}

Result<Json> LocalApi::DeletePod(const std::string& namespace_, const std::string& name) {
  BERTH_TRY(const ManifestFiles files,
            mailbox_.Ask<ManifestFiles>([this]() -> Result<ManifestFiles> { return manager_.files(); }));
  std::string full_name = namespace_ + "/" + name;
  if (!files.contains(full_name)) full_name = namespace_ + "/" + folder_.NameOnNode(name);
  if (!files.contains(full_name))
    return Fail(Code::kNotFound, fmt::format("no pod '{}' in namespace '{}' has a manifest; see berth pods",
                                             Printable(name), Printable(namespace_)));
  BERTH_TRY(const std::string file, folder_.Remove(full_name, files));
  return Json{{"namespace", namespace_}, {"name", full_name.substr(namespace_.size() + 1)}, {"file", file}};
}

Result<Json> LocalApi::Explain(const std::string& manifest) {
  BERTH_TRY(manifest::ParsedPods parsed, manifest::ParsePods(manifest, kRequest));
  if (parsed.pods.size() != 1)
    return Fail(Code::kInvalid, fmt::format("the request holds {} pods; give exactly one", parsed.pods.size()));
  berth::Pod pod = std::move(parsed.pods.front());
  // What the loop knows now; trying what would help takes a while and is done here.
  struct Known {
    engine::Node node;
    berth::Ledger ledger;
    std::string node_name;
  };
  BERTH_TRY(Known known, mailbox_.Ask<Known>([&]() -> Result<Known> {
    return Known{manager_.node(), manager_.ledger(), manager_.options().node_name};
  }));
  source::MakeStatic(pod, known.node_name, kRequest, "api");
  const std::string name = FullName(pod);
  const PodRecord* const there = FindPod(known.ledger, name);
  const bool was_there = there != nullptr;
  if (was_there) berth::Apply(known.ledger, engine::Release(known.node, known.ledger, there->uid, nullptr));
  Json out = {
      {"pod", name}, {"qosClass", Name(QosOf(pod))}, {"machine", known.node.machine().source}, {"wasThere", was_there}};
  out.update(offline::ToJson(engine::Explain(known.node, known.ledger, pod, {})));
  return out;
}

Result<Json> LocalApi::Events(const api::EventQuery& query) {
  EventFilter filter;
  if (query.limit) filter.limit = std::min(*query.limit, kMostEvents);
  if (!query.since.empty()) {
    BERTH_TRY(filter.since, ParseSince(query.since, os::SystemClock().Wall()));
  }
  if (query.pod.contains('/'))
    filter.objects = {"pod/" + query.pod, "pod/" + folder_.NameOnNode(query.pod)};
  else if (!query.pod.empty())
    filter.pod_names = {query.pod, folder_.NameOnNode(query.pod)};
  BERTH_TRY(std::vector<Event> recent,
            mailbox_.Ask<std::vector<Event>>([&]() -> Result<std::vector<Event>> { return Recent(events_, filter); }));
  const EventList found = WithHistory(std::move(recent), filter, history_);
  Json list = Json::array();
  for (const Event& event : found.events) list.push_back(ToJson(event));
  return Json{{"events", std::move(list)}, {"leftOut", found.left_out}, {"problem", found.problem}};
}

Result<std::string> LocalApi::LogPath(const api::LogQuery& query) const {
  BERTH_TRY(const ManagedPod* managed, Find(query.namespace_, query.pod));
  std::vector<std::string> names;
  ForEachContainer(managed->pod, [&](const Container& c, ContainerKind) { names.push_back(c.name); });
  std::string container = query.container;
  if (container.empty() && names.size() == 1) container = names.front();
  if (std::ranges::find(names, container) == names.end())
    return Fail(Code::kInvalid, fmt::format("pod {} has no container '{}'; it has: {}", FullName(managed->pod),
                                            Printable(container), Join(names, ", ")));
  const auto not_started = Fail(
      Code::kNotFound, fmt::format("container {} of pod {} was not started yet", container, FullName(managed->pod)));
  if (!managed->lifecycle) return not_started;
  for (const runtime::ContainerView& view : managed->lifecycle->containers()) {
    if (view.name != container) continue;
    if (!view.last) return not_started;
    const int attempt = view.last->attempt - (query.previous ? 1 : 0);
    if (attempt < 0)
      return Fail(Code::kNotFound, fmt::format("container {} of pod {} was never restarted: it has no previous log",
                                               container, FullName(managed->pod)));
    const std::string& path = view.last->log_path;
    return path.substr(0, path.rfind('/') + 1) + std::to_string(attempt) + ".log";
  }
  return not_started;
}

Result<Json> LocalApi::Logs(const api::LogQuery& query) {
  if (facts_.runtime == "dry-run")
    return Fail(Code::kUnsupported, "this berthd plays a machine (--machine): nothing runs, so there are no logs");
  BERTH_TRY(const std::string path, mailbox_.Ask<std::string>([&] { return LogPath(query); }));
  runtime::TailOptions options;
  if (query.tail) options.entries = *query.tail;
  BERTH_TRY(const std::vector<runtime::LogEntry> entries, runtime::TailLog(path, options));
  Json list = Json::array();
  for (const runtime::LogEntry& entry : entries)
    list.push_back({{"time", entry.time}, {"stream", entry.stream}, {"text", entry.text}});
  return Json{{"path", path}, {"entries", std::move(list)}};
}

}  // namespace berth::daemon
