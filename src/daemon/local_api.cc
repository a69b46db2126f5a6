#include "daemon/local_api.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/duration.h"
#include "base/text.h"
#include "base/time_text.h"
#include "daemon/settings.h"
#include "frontend/static_pods/device_plugin_calls.h"
#include "frontend/static_pods/device_questions.h"
#include "frontend/static_pods/node_rules.h"
#include "manifest/manifest.h"
#include "rpc/http/call.h"
#include "runtime/process/log_reader.h"
#include "simulator/offline/pod_explanation.h"
#include "telemetry/metrics/page.h"
#include "telemetry/metrics/summary.h"

namespace berth::daemon {
namespace {

constexpr std::string_view kRequest = "request";
constexpr os::Millis kPatience{10'000};             // for the loop
constexpr os::Millis kPatienceOfProbes{5'000};      // likewise
constexpr std::size_t kMostEvents = 100'000;        // in one answer
constexpr std::size_t kMostLogEntries = 1'000'000;  // likewise

/// The container that is meant: the one named, or the only one. Errors: kInvalid.
Result<const ContainerView*> ContainerOf(const PodView& pod, const std::string& named) {
  std::vector<std::string> names;
  for (const ContainerView& container : pod.containers) {
    if (container.name == named) return &container;
    names.push_back(container.name);
  }
  if (named.empty() && pod.containers.size() == 1) return &pod.containers.front();
  return Fail(Code::kInvalid, fmt::format("pod {} has no container '{}'; it has: {}", FullName(pod), Printable(named),
                                          Join(names, ", ")));
}

bool IsAskedFor(const EventFilter& filter, const PodView& pod) {
  return std::ranges::find(filter.objects, "pod/" + FullName(pod)) != filter.objects.end() ||
         std::ranges::find(filter.pod_names, pod.name) != filter.pod_names.end();
}

/// What happened to the groups of a pod and its containers happened to the pod.
void AddGroupsOf(const PodView& pod, EventFilter& filter) {
  for (const ContainerView& container : pod.containers) {
    if (!container.place || container.place->cgroup.empty()) continue;
    const std::string object = "cgroup/" + container.place->cgroup;
    const std::string above = object.substr(0, object.rfind('/'));
    for (const std::string& group : {object, above})
      if (std::ranges::find(filter.objects, group) == filter.objects.end()) filter.objects.push_back(group);
  }
}

LogPage PageOf(const std::string& path, bool running, runtime::LogPart part) {
  return {.path = path,
          .running = running,
          .entries = std::move(part.entries),
          .next = FormatPlace(part.next),
          .more = part.more,
          .gap = part.gap};
}

LoopAbsence ViewOf(const event_loop::Absence& absence) {
  return {.ms = std::chrono::ceil<os::Millis>(absence.time).count(), .what = absence.what};
}

/// The node as it would be with the settings the query has. What runs keeps its places. Errors: as
/// allocator::Node::Make.
Result<allocator::Node> Under(const api::ExplainQuery& query, const allocator::Node& node) {
  if (!query.topology_policy && !query.topology_scope && !query.cpu_options) return node;
  KubeletConfiguration config = node.config();
  if (query.topology_policy) config.topology_manager_policy = *query.topology_policy;
  if (query.topology_scope) config.topology_manager_scope = *query.topology_scope;
  if (query.cpu_options) config.cpu_manager_policy_options = *query.cpu_options;
  return allocator::Node::Make(node.machine(), std::move(config), node.options());
}

/// What Admission asks about `pod` beside books and conditions. A pod of one of its `names` is left out, but for its
/// place among those that wait, which is then this one's. `state` outlives the answer.
offline::LiveNode LiveNodeFor(const LoopState& state, const pods::NodeRules& rules,
                              const std::vector<std::string>& names, Pod& pod) {
  offline::LiveNode out{.queue = state.queue, .choosy = pods::ChoosyResources(*state.plugins)};
  std::vector<const Pod*> placed;
  for (const PodSnapshot& other : state.node.pods) {
    const std::string& uid = other.view->uid;
    if (std::ranges::find(names, FullName(*other.view)) == names.end()) {
      if (state.node.ledger->pods.contains(uid)) placed.push_back(other.manifest.get());
    } else if (state.queue.waiting.contains(uid)) {
      pod.uid = uid;
      if (other.view->queue_place > 0) --out.queue.others.waiting;
    }
  }
  std::string& leaving = out.queue.others.leaving;
  if (std::ranges::find(names, leaving) != names.end()) leaving.clear();
  out.refused = pods::RefusalOf(pod, rules, placed);
  if (const std::string awaited = pods::FirstAwaited(pods::DeviceResourcesOf(pod), *state.plugins); !awaited.empty())
    out.plugin = Wait{std::string(pods::kWaitingForPlugin), pods::WaitsForPlugin(awaited)};
  out.find = [&state](const std::string& uid) -> const Pod* {
    if (!state.queue.waiting.contains(uid)) return nullptr;
    const auto found = std::ranges::find(state.node.pods, uid, [](const PodSnapshot& pod) { return pod.view->uid; });
    return found == state.node.pods.end() ? nullptr : found->manifest.get();
  };
  return out;
}

}  // namespace

Result<os::WallTime> ParseSince(std::string_view text, os::WallTime now) {
  if (const auto duration = ParseDuration(text); duration && !text.starts_with('-')) return now - *duration;
  if (const auto time = ParseTime(text)) return *time;
  return Fail(Code::kInvalid, fmt::format("since={}: must be a time like 2026-01-02T03:04:05Z or a duration like 10m",
                                          Printable(text)));
}

Result<DaemonStatus> LocalApi::Status() {
  DaemonStatus out = *published_.Get()->node.status;
  const event_loop::AwayFigures away = loop_.figures();
  out.loop = {.turns = away.turns, .longest = ViewOf(away.longest), .longest_lately = ViewOf(away.longest_lately)};
  if (history_ == nullptr) return out;
  const history::State state = history_->state();
  if (!state.problem.empty())
    out.warnings.push_back(fmt::format("{}; events wait: {}, lost: {}", state.problem, state.waiting, state.lost));
  out.history = HistoryStatus{
      .path = state.path, .kept = state.kept, .waiting = state.waiting, .lost = state.lost, .problem = state.problem};
  return out;
}

/// By the loop itself: an answer says that it turns.
Result<Health> LocalApi::GetHealth() {
  return loop_.Ask<Health>("health", kPatienceOfProbes, [this]() -> Result<Health> { return health_(); });
}

Result<std::shared_ptr<const Machine>> LocalApi::GetMachine() { return published_.Get()->node.machine; }

Result<std::shared_ptr<const DeviceInventory>> LocalApi::Devices() { return published_.Get()->node.devices; }

Result<std::shared_ptr<const NodeView>> LocalApi::Node() { return published_.Get()->node.node; }

Result<std::shared_ptr<const Ledger>> LocalApi::GetLedger() { return published_.Get()->node.ledger; }

Result<PodList> LocalApi::Pods() {
  const auto state = published_.Get();
  PodList out{.pods = {}, .shared = state->node.shared};
  for (const PodSnapshot& pod : state->node.pods) out.pods.push_back(pod.view);
  return out;
}

Result<TreeView> LocalApi::Tree() { return TreeStatus(*published_.Get(), tree_); }

Result<const PodSnapshot*> LocalApi::Find(const LoopState& state, const std::string& namespace_,
                                          const std::string& name) const {
  for (const std::string& candidate : {name, folder_.NameOnNode(name)})
    if (const PodSnapshot* pod = FindPod(state.node, namespace_, candidate); pod != nullptr) return pod;
  return Fail(Code::kNotFound,
              fmt::format("no pod '{}' in namespace '{}'; see berth pods", Printable(name), Printable(namespace_)));
}

Result<PodDetails> LocalApi::GetPod(const std::string& namespace_, const std::string& name) {
  const auto state = published_.Get();
  BERTH_TRY(const PodSnapshot* pod, Find(*state, namespace_, name));
  PodDetails out{.view = pod->view,
                 .shared = state->node.shared,
                 .trace = *pod->trace,  // of this berthd, whose version never changes
                 .kubelet_version = state->node.node->kubelet_version,
                 .manifest = *pod->manifest,
                 .events = {}};
  EventFilter filter;
  filter.objects = {"pod/" + FullName(*pod->view)};
  AddGroupsOf(*pod->view, filter);
  out.events = WithHistory(Recent(*state->node.events, filter), filter, history_).events;
  return out;
}

Result<void> LocalApi::CheckOurs() const {
  return limits_.changes.empty() ? Result<void>() : Fail(Code::kUnsupported, limits_.changes);
}

Result<StoredPods> LocalApi::ApplyPods(const api::ApplyQuery& query) {
  BERTH_RETURN_IF_ERROR(CheckOurs());
  // The storage of the folder may be read beside it.
  if (std::max(query.manifests.size(), published_.Get()->storage->size()) <= http::kSmallBody) return Apply(query);
  const MutexLock lock(large_manifest_);
  return Apply(query);
}

std::string LocalApi::OtherUserOf(const LoopState& state, const std::string& path, const Pod& pod) const {
  const std::string on_node = pod.namespace_ + "/" + folder_.NameOnNode(pod.name);
  for (const PodSnapshot& other : state.node.pods) {
    const bool ended = other.view->phase == PodPhase::kSucceeded || other.view->phase == PodPhase::kFailed;
    if (ended || FullName(*other.view) == FullName(pod) || FullName(*other.view) == on_node) continue;
    for (const Volume& volume : other.manifest->volumes)
      if (volume.kind == Volume::Kind::kHostPath && volume.host_path == path) return FullName(*other.view);
  }
  return "";
}

/// PersistentVolumes and claims of the pod folder are for claims that the request itself does not answer.
manifest::Reading LocalApi::ReadRequest(const api::ApplyQuery& query, const LoopState& state) const {
  manifest::PodOptions options = rules_.pods;
  options.templates = query.templates;
  options.dry_run = query.dry_run;
  options.origin = query.file;
  options.on_node = [this](const Pod& pod) { return CheckOnNode(pod, rules_); };
  options.other_user = [&](const Pod& pod, const std::string& path) { return OtherUserOf(state, path, pod); };
  options.device_resources = DeviceResources(*state.node.devices);
  manifest::Reading alone = manifest::ReadManifest(query.manifests, kRequest, options);
  if (alone.found.unanswered_claims == 0 || state.storage->empty()) return alone;
  options.storage = *state.storage;
  manifest::Reading beside = manifest::ReadManifest(query.manifests, kRequest, options);
  const bool answers =
      beside.found.unanswered_claims < alone.found.unanswered_claims && beside.problems.size() <= alone.problems.size();
  return answers ? std::move(beside) : std::move(alone);
}

Result<StoredPods> LocalApi::Apply(const api::ApplyQuery& query) {
  const auto state = published_.Get();
  const manifest::Reading read = ReadRequest(query, *state);
  const manifest::ParsedPods& found = read.found;
  if (read.problems.empty() && found.pods.empty() && found.documents.empty() && !found.has_templates)
    return Fail(Code::kInvalid, "the request holds no pod, ConfigMap or Secret");
  StoredPods out;
  if (query.dry_run || !read.problems.empty()) {
    out = folder_.Look(found.pods, *state->node.files, found.documents, state->held_bytes);
    out.problems.insert(out.problems.begin(), read.problems.begin(), read.problems.end());
    if (!query.dry_run) return Fail(Code::kInvalid, Join(out.problems, "\n"));
  } else {
    BERTH_TRY(out.results, folder_.Store(found.pods, *state->node.files, found.documents, state->held_bytes));
  }
  const bool changed = std::ranges::any_of(
      out.results, [](const StoredPod& stored) { return stored.action != StoreAction::kUnchanged; });
  const std::vector<manifest::Warning> none;
  for (const auto* list : {&found.warnings, changed || out.results.empty() ? &found.made : &none})
    for (const manifest::Warning& warning : *list) out.warnings.push_back(warning.where + ": " + warning.message);
  return out;
}

Result<DeletedPod> LocalApi::DeletePod(const std::string& namespace_, const std::string& name) {
  BERTH_RETURN_IF_ERROR(CheckOurs());
  const auto state = published_.Get();
  for (const std::string& on_node : {name, folder_.NameOnNode(name)}) {
    auto file = folder_.Remove(namespace_ + "/" + on_node, *state->node.files);
    if (file) return DeletedPod{.namespace_ = namespace_, .name = on_node, .file = *std::move(file)};
    if (file.error().code != Code::kNotFound) return std::unexpected(std::move(file).error());
    if (FindPod(state->node, namespace_, on_node) != nullptr) break;  // it ends already: no other one is meant
  }
  return Fail(Code::kNotFound, fmt::format("no pod '{}' in namespace '{}' has a manifest; see berth pods",
                                           Printable(name), Printable(namespace_)));
}

Result<DeletedPod> LocalApi::DeleteDocument(DocumentKind kind, const std::string& namespace_, const std::string& name) {
  BERTH_RETURN_IF_ERROR(CheckOurs());
  BERTH_TRY(std::string file, folder_.RemoveDocument(kind, namespace_, name, *published_.Get()->node.files));
  return DeletedPod{.namespace_ = namespace_, .name = name, .file = std::move(file), .kind = std::string(Name(kind))};
}

Result<RestartedPod> LocalApi::RestartPod(const std::string& namespace_, const std::string& name) {
  BERTH_RETURN_IF_ERROR(CheckOurs());
  const auto state = published_.Get();
  BERTH_TRY(const PodSnapshot* pod, Find(*state, namespace_, name));
  RestartedPod out{.namespace_ = pod->view->namespace_, .name = pod->view->name, .containers = {}};
  BERTH_TRY(out.containers,
            loop_.Ask<std::vector<std::string>>("restart", kPatience, [&] { return restart_(pod->view->uid); }));
  return out;
}

Result<Outlook> LocalApi::Explain(const api::ExplainQuery& query) {
  if (query.manifest.size() <= http::kSmallBody) return ExplainOne(query);
  const MutexLock lock(large_manifest_);
  return ExplainOne(query);
}

Result<Outlook> LocalApi::ExplainOne(const api::ExplainQuery& query) {
  BERTH_TRY(manifest::ParsedPods parsed,
            manifest::ParsePods(query.manifest, kRequest, {.to_be_run = false, .most_pods = 1}));
  if (parsed.pods.size() != 1)
    return Fail(Code::kInvalid, fmt::format("the request holds {} pods; give exactly one", parsed.pods.size()));
  const auto state = published_.Get();
  BERTH_TRY(const allocator::Node node, Under(query, *state->engine));
  Pod pod = std::move(parsed.pods.front());
  const std::string& node_name = state->node.status->node_name;
  const offline::LiveNode live = CheckOurs()
                                     ? LiveNodeFor(*state, rules_.node, offline::NamesOf(FullName(pod), node_name), pod)
                                     : offline::LiveNode();
  return offline::ExplainNow(node, *state->node.ledger, state->node.node->conditions, std::move(pod),
                             {.devices = *state->node.devices, .preferred_devices = {}}, node_name, live);
}

Result<Move> LocalApi::MoveContainer(const MoveRequest& request) {
  BERTH_RETURN_IF_ERROR(CheckOurs());
  return loop_.Ask<Move>("move", kPatience, [&] { return move_(request); });
}

Result<EventList> LocalApi::Events(const api::EventQuery& query) {
  EventFilter filter;
  if (query.limit) filter.limit = std::min(*query.limit, kMostEvents);
  if (!query.since.empty()) {
    BERTH_TRY(filter.since, ParseSince(query.since, os::SystemClock().Wall()));
  }
  if (query.pod.contains('/'))
    filter.objects = {"pod/" + query.pod, "pod/" + folder_.NameOnNode(query.pod)};
  else if (!query.pod.empty())
    filter.pod_names = {query.pod, folder_.NameOnNode(query.pod)};
  const auto state = published_.Get();
  if (!query.pod.empty())
    for (const PodSnapshot& pod : state->node.pods)
      if (IsAskedFor(filter, *pod.view)) AddGroupsOf(*pod.view, filter);
  return WithHistory(Recent(*state->node.events, filter), filter, history_);
}

Result<std::string> LocalApi::FindRunning(const api::ExecQuery& query) const {
  const auto state = published_.Get();
  BERTH_TRY(const PodSnapshot* pod, Find(*state, query.namespace_, query.pod));
  BERTH_TRY(const ContainerView* container, ContainerOf(*pod->view, query.container));
  if (container->phase == ContainerPhase::kRunning && container->last) return container->id;
  const std::string& why = container->reason.empty() ? pod->view->reason : container->reason;
  return Fail(Code::kConflict,
              fmt::format("container {} of pod {} does not run: it is {}{}", container->name, FullName(*pod->view),
                          Name(container->phase), why.empty() ? "" : " (" + why + ")"));
}

Result<ContainerCalls*> LocalApi::Calls(const std::string& why) const {
  return calls_ != nullptr ? Result<ContainerCalls*>(calls_) : Fail(Code::kUnsupported, why);
}

Result<CommandEnd> LocalApi::Exec(const api::ExecQuery& query) {
  BERTH_TRY(ContainerCalls* const calls, Calls(limits_.exec));
  BERTH_TRY(const std::string id, FindRunning(query));
  return calls->Exec(id, query.command, query.limit, query.caller_fd);
}

Result<ImageList> LocalApi::Images() {
  BERTH_TRY(ContainerCalls* const calls, Calls(limits_.images));
  BERTH_TRY(const std::vector<cri::Image> images, calls->Images());
  ImageList out{.runtime = published_.Get()->node.status->runtime, .endpoint = calls->socket(), .images = {}};
  for (const cri::Image& image : images)
    out.images.push_back({.id = image.id, .tags = image.tags, .digests = image.digests, .size = image.size});
  return out;
}

Result<std::string> LocalApi::Metrics() {
  const auto usage = usage_.Get();
  const auto state = published_.Get();
  const event_loop::AwayFigures turns = loop_.figures();
  return metrics::FormatPage(
      {.node = state->node,
       .turns = turns.seconds,
       .usage = usage ? usage->get() : nullptr,
       .process = OwnFigures(),
       .pod_resources = pod_resources_ == nullptr ? std::nullopt : std::optional(pod_resources_->figures())});
}

Result<StatsSummary> LocalApi::Stats() {
  BERTH_TRY(const auto usage, usage_.Get());
  return metrics::SummaryOf(*usage);
}

Result<LocalApi::FoundLog> LocalApi::FindLog(const api::LogQuery& query) const {
  const auto state = published_.Get();
  BERTH_TRY(const PodSnapshot* pod, Find(*state, query.namespace_, query.pod));
  BERTH_TRY(const ContainerView* container, ContainerOf(*pod->view, query.container));
  const std::string pod_name = FullName(*pod->view);
  if (!container->last)
    return Fail(Code::kNotFound, fmt::format("container {} of pod {} was not started yet", container->name, pod_name));
  const std::string& newest = container->last->log_path;
  const bool running = container->phase == ContainerPhase::kRunning;
  const std::string folder = newest.substr(0, newest.rfind('/') + 1);
  if (!query.log.empty()) {  // of this very pod, and of this attempt or one before it
    if (query.log.substr(0, query.log.rfind('/') + 1) != folder) return Fail(Code::kNotFound, "its pod is gone");
    return FoundLog{.path = query.log, .running = running && query.log == newest};
  }
  const int attempt = container->restarts - (query.previous ? 1 : 0);  // every start but the first is a restart
  if (attempt < 0)
    return Fail(Code::kNotFound, fmt::format("container {} of pod {} was never restarted: it has no previous log",
                                             container->name, pod_name));
  return FoundLog{.path = folder + std::to_string(attempt) + ".log", .running = running && !query.previous};
}

/// The next part of a log that was asked for before. Whether its container runs is known before the log is read: what
/// one that has ended wrote is in this part, or there is more.
Result<LogPage> LocalApi::FollowLog(const api::LogQuery& query) {
  const auto place = runtime::ParsePlace(query.after);
  if (!place) return Fail(Code::kInvalid, "after=" + Printable(query.after) + ": must be \"next\" of the last answer");
  const auto found = FindLog(query);
  if (!found && found.error().code != Code::kNotFound) return std::unexpected(found.error());
  BERTH_TRY(runtime::LogPart part, found ? followed_.Read(found->path, *place, os::SystemClock().Now())
                                         : followed_.ReadRemoved(query.log, *place));
  return PageOf(query.log, found && found->running, std::move(part));
}

Result<LogPage> LocalApi::Logs(const api::LogQuery& query) {
  if (!limits_.logs.empty()) return Fail(Code::kUnsupported, limits_.logs);
  if (!query.log.empty()) return FollowLog(query);
  BERTH_TRY(const FoundLog found, FindLog(query));
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
  if (since) std::erase_if(part->entries, [&](const auto& e) { return ParseTime(e.time) < *since; });
  return PageOf(found.path, found.running, *std::move(part));
}

}  // namespace berth::daemon
