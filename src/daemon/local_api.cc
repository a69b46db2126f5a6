#include "daemon/local_api.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "daemon/pod_status.h"
#include "daemon/tree_status.h"
#include "engine/explanation/explain.h"
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
constexpr std::size_t kMostEvents = 100'000;        // in one answer
constexpr std::size_t kMostLogEntries = 1'000'000;  // likewise

/// The container that is meant: the one named, or the only one. Errors: kInvalid.
Result<std::string> ContainerOf(const Pod& pod, const std::string& named) {
  std::vector<std::string> names;
  ForEachContainer(pod, [&](const Container& c, ContainerKind) { names.push_back(c.name); });
  if (named.empty() && names.size() == 1) return names.front();
  if (std::ranges::find(names, named) != names.end()) return named;
  return Fail(Code::kInvalid, fmt::format("pod {} has no container '{}'; it has: {}", FullName(pod), Printable(named),
                                          Join(names, ", ")));
}

Json LogJson(const std::string& path, bool running, const runtime::LogPart& part) {
  Json list = Json::array();
  for (const runtime::LogEntry& entry : part.entries) {
    Json& put = list.emplace_back(Json{{"time", entry.time}, {"stream", entry.stream}, {"text", entry.text}});
    if (entry.partial) put["partial"] = true;
  }
  return Json{{"path", path},      {"running", running}, {"entries", std::move(list)}, {"next", FormatPlace(part.next)},
              {"more", part.more}, {"gap", part.gap}};
}

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
    Json calls = Json::object();
    for (const auto& [name, count] : manager_.runtime().Calls())
      calls[name] = {{"calls", count.calls}, {"failed", count.failed}};
    return Json{{"version", facts_.version},
                {"nodeName", manager_.options().node_name},
                {"pid", ::getpid()},
                {"startedAt", facts_.started_at},
                {"cgroupVersion", std::string(cgroup::Name(tree.layout().version))},
                {"runtime", facts_.runtime},
                {"runtimeEndpoint", calls_ != nullptr ? calls_->socket() : ""},
                {"machineSource", manager_.node().machine().source},
                {"ledgerRevision", manager_.ledger().revision},
                {"pods", manager_.pods().size()},
                {"cgroupWrites", tree.writes()},
                {"runtimeCalls", std::move(calls)},
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

Result<std::string> LocalApi::FindRunning(const api::ExecQuery& query) const {
  BERTH_TRY(const ManagedPod* managed, Find(query.namespace_, query.pod));
  BERTH_TRY(const std::string container, ContainerOf(managed->pod, query.container));
  std::string state = "waiting";
  std::string why = managed->reason;
  if (managed->lifecycle)
    for (const runtime::ContainerView& view : managed->lifecycle->containers()) {
      if (view.name != container) continue;
      if (view.state == runtime::ContainerView::State::kRunning && view.last) return view.last->id;
      state = Name(view.state);
      why = view.reason;
    }
  return Fail(Code::kConflict, fmt::format("container {} of pod {} does not run: it is {}{}", container,
                                           FullName(managed->pod), state, why.empty() ? "" : " (" + why + ")"));
}

Result<ContainerCalls*> LocalApi::Calls(const std::string& what) const {
  if (calls_ != nullptr) return calls_;
  if (facts_.runtime == "dry-run")
    return Fail(Code::kUnsupported, "this berthd plays a machine (--machine): nothing runs, so there are no " + what);
  return Fail(Code::kUnsupported, "this berthd runs containers as plain processes (runtime: process): there are no " +
                                      what +
                                      "; what a container sees is this host, where a command can be run as it is");
}

Result<Json> LocalApi::Exec(const api::ExecQuery& query) {
  BERTH_TRY(ContainerCalls* const calls, Calls("containers to run a command in"));
  BERTH_TRY(const std::string id, mailbox_.Ask<std::string>([&] { return FindRunning(query); }));
  BERTH_TRY(const CommandEnd end, calls->Exec(id, query.command, query.limit, query.caller_fd));
  return Json{{"exitCode", end.exit_code},
              {"stdout", ToBase64(end.out)},
              {"stderr", ToBase64(end.err)},
              {"message", end.message}};
}

Result<Json> LocalApi::Images() {
  BERTH_TRY(ContainerCalls* const calls, Calls("images"));
  BERTH_TRY(const std::vector<cri::Image> images, calls->Images());
  Json list = Json::array();
  for (const cri::Image& image : images)
    list.push_back({{"id", image.id}, {"tags", image.tags}, {"digests", image.digests}, {"size", image.size}});
  return Json{{"runtime", facts_.runtime}, {"endpoint", calls->socket()}, {"images", std::move(list)}};
}

Result<LocalApi::FoundLog> LocalApi::FindLog(const api::LogQuery& query) const {
  BERTH_TRY(const ManagedPod* managed, Find(query.namespace_, query.pod));
  BERTH_TRY(const std::string container, ContainerOf(managed->pod, query.container));
  const auto not_started = Fail(
      Code::kNotFound, fmt::format("container {} of pod {} was not started yet", container, FullName(managed->pod)));
  if (!managed->lifecycle) return not_started;
  for (const runtime::ContainerView& view : managed->lifecycle->containers()) {
    if (view.name != container) continue;
    if (!view.last) return not_started;
    const std::string& newest = view.last->log_path;
    const bool running = view.state == runtime::ContainerView::State::kRunning;
    const std::string folder = newest.substr(0, newest.rfind('/') + 1);
    if (!query.log.empty()) {  // of this very pod, and of this attempt or one before it
      if (query.log.substr(0, query.log.rfind('/') + 1) != folder) return Fail(Code::kNotFound, "its pod is gone");
      return FoundLog{.path = query.log, .running = running && query.log == newest};
    }
    const int attempt = view.last->attempt - (query.previous ? 1 : 0);
    if (attempt < 0)
      return Fail(Code::kNotFound, fmt::format("container {} of pod {} was never restarted: it has no previous log",
                                               container, FullName(managed->pod)));
    return FoundLog{.path = folder + std::to_string(attempt) + ".log", .running = running && !query.previous};
  }
  return not_started;
}

/// The next part of a log that was asked for before. Whether its container runs is known before the log is read: what
/// one that has ended wrote is in this part, or there is more.
Result<Json> LocalApi::FollowLog(const api::LogQuery& query) {
  const auto place = runtime::ParsePlace(query.after);
  if (!place) return Fail(Code::kInvalid, "after=" + Printable(query.after) + ": must be \"next\" of the last answer");
  const auto found = mailbox_.Ask<FoundLog>([&] { return FindLog(query); });
  if (!found && found.error().code != Code::kNotFound) return std::unexpected(found.error());
  BERTH_TRY(const runtime::LogPart part, found ? followed_.Read(found->path, *place, os::SystemClock().Now())
                                               : followed_.ReadRemoved(query.log, *place));
  return LogJson(query.log, found && found->running, part);
}

Result<Json> LocalApi::Logs(const api::LogQuery& query) {
  if (facts_.runtime == "dry-run")
    return Fail(Code::kUnsupported, "this berthd plays a machine (--machine): nothing runs, so there are no logs");
  if (!query.log.empty()) return FollowLog(query);
  BERTH_TRY(const FoundLog found, mailbox_.Ask<FoundLog>([&] { return FindLog(query); }));
  if (query.follow) followed_.Keep(found.path, os::SystemClock().Now());
  runtime::TailOptions options;
  std::optional<os::WallTime> since;
  if (!query.since.empty()) {
    BERTH_TRY(since, ParseSince(query.since, os::SystemClock().Wall()));
    options.entries = kMostLogEntries;
  }
  if (query.tail) options.entries = *query.tail;
  auto part = runtime::TailLog(found.path, options);
  if (!part && part.error().code == Code::kNotFound && query.follow) part = runtime::LogPart();  // it wrote nothing yet
  if (!part) return std::unexpected(std::move(part).error());
  if (since) std::erase_if(part->entries, [&](const auto& e) { return runtime::ParseTime(e.time) < *since; });
  return LogJson(found.path, found.running, *part);
}

}  // namespace berth::daemon
