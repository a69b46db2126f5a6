#include "frontend/static_pods/container_starter.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "frontend/static_pods/pod_folder_index.h"
#include "frontend/static_pods/termination_messages.h"
#include "frontend/static_pods/volumes.h"
#include "host/cgroup/oom_score.h"
#include "node/pods/mixed_cpus.h"
#include "runtime/lifecycle/container_attempt.h"
#include "runtime/lifecycle/device_grants.h"
#include "runtime/lifecycle/env.h"

namespace berth::pods {
namespace {

constexpr os::Millis kLookAfterStart{10};
constexpr os::Millis kLongestLookAtLeftovers{1'000};  // between two looks at leftovers that die

}  // namespace

Result<runtime::StartRequest> Starter::RequestFor(const Pod& pod, const FoundContainer& found, int attempt) const {
  const StaticPodOptions& options = context_.options();
  runtime::StartRequest request;
  if (context_.IsSetAside(pod)) return Fail(Code::kInvalid, options.work_notes->Explain("the pod"));
  const os::WorkNotes::Work noted(options.work_notes, context_.WorkKey(pod));
  request.place.facts = context_.FactsFor(pod);
  BERTH_TRY(runtime::Environment env, runtime::ResolveEnv(pod, *found.container, request.place.facts));
  BERTH_TRY(request.devices, DevicesOf(pod, *found.container));
  env = runtime::WithDevices(request.devices, std::move(env));
  if (const Placement* const placement = PlacementOf(pod, *found.container); IsTold(node_.options().pods, placement))
    AddMixedCpus(*placement, SharedNow(), FileOfPool(node_.options().pods, node_.runtime()), env);
  request.pod_uid = pod.uid;
  request.pod_namespace = pod.namespace_;
  request.pod_name = pod.name;
  BERTH_TRY(request.container, runtime::ExpandCommand(*found.container, env));
  request.container.security = WithPodDefaults(found.container->security, pod.security);
  if (SecurityContext& security = request.container.security;
      options.seccomp_default && security.seccomp.empty() && !security.privileged.value_or(false))
    security.seccomp = "RuntimeDefault";
  request.env = std::move(env);
  request.attempt = attempt;
  request.grace = std::chrono::seconds(std::clamp<std::int64_t>(pod.termination_grace_s, 0, runtime::kLongestGraceS));
  request.oom_score_adj = cgroup::OomScoreAdj(pod, *found.container, node_.allocations().node().machine().memory);
  request.log_path = fmt::format("{}/{}/{}.log", context_.LogFolder(pod), found.container->name, attempt);
  request.log_max_bytes = options.log_max_bytes;
  request.log_max_files = options.log_max_files;
  request.kind = found.kind;
  FillPlace(pod, request.place);
  return request;
}

void Starter::FillPlace(const Pod& pod, runtime::Place& place) const {
  place.v2 = node_.groups().site().v2();
  place.hostname = pod.hostname.empty() ? pod.name : pod.hostname;
  place.log_folder = context_.LogFolder(pod);
  place.host_network = pod.host_network;
  place.pod = std::make_shared<const Pod>(pod);
  ForEachContainer(pod, [&](const Container& other, ContainerKind) {
    place.privileged_pod = place.privileged_pod || other.security.privileged.value_or(false);
  });
}

/// Of all its containers together, once for what is known.
Result<void> Starter::CheckWords(const Pod& pod) const {
  runtime::NodeFacts facts = context_.FactsFor(pod);
  std::optional<WordsLook>& words = context_.StateOf(pod.uid).words;
  if (!words || words->facts != facts) {
    const os::WorkNotes::Work noted(context_.options().work_notes, context_.WorkKey(pod));
    words = WordsLook{.facts = facts, .outcome = runtime::CheckPodWords(pod, facts)};
  }
  return words->outcome;
}

/// nullptr: it has none.
const Placement* Starter::PlacementOf(const Pod& pod, const Container& container) const {
  const auto record = node_.allocations().ledger().pods.find(pod.uid);
  return record == node_.allocations().ledger().pods.end() ? nullptr : FindPlacement(record->second, container.name);
}

CpuSet Starter::SharedNow() const {
  return node_.groups().planner().SharedNow(node_.allocations().ledger(), node_.allocations().online());
}

/// What its devices bring, of all resources together.
Result<DeviceAnswer> Starter::DevicesOf(const Pod& pod, const Container& container) const {
  const Placement* const placement = PlacementOf(pod, container);
  if (placement == nullptr) return DeviceAnswer();
  auto grants = runtime::GrantsOf(placement->devices);
  if (!grants) return Wrap(std::move(grants).error(), "container " + container.name);
  TellConflicts(pod, container, grants->conflicts);
  return std::move(grants->all);
}

void Starter::TellConflicts(const Pod& pod, const Container& container,
                            const std::vector<std::string>& conflicts) const {
  for (const std::string& conflict : conflicts)
    node_.events().Warning("DeviceConflict", ObjectOf(pod),
                           fmt::format("container {}: left out is {}", container.name, conflict));
}

Result<std::optional<runtime::ContainerStatus>> Starter::Start(const ManagedPod& managed, const FoundContainer& found,
                                                               int attempt, os::MonoTime now) {
  const Pod& pod = managed.pod;
  const Container& container = *found.container;
  StaticPodState& state = context_.StateOf(pod.uid);
  const auto mounting = state.mounting.find(container.name);
  if (mounting != state.mounting.end() && !mounting->second.made) return std::nullopt;
  BERTH_RETURN_IF_ERROR(CheckWords(pod));
  BERTH_TRY(runtime::StartRequest request, RequestFor(pod, found, attempt));
  const StaticPodOptions& options = context_.options();
  if (context_.makes_volumes()) {
    BERTH_RETURN_IF_ERROR(NotePod(options.notes, {.uid = pod.uid, .log_folder = context_.LogFolder(pod)}));
    BERTH_TRY(const bool mounted, TakeMounts(managed, container, request));
    if (!mounted) return std::nullopt;
    const bool isolated = node_.runtime().isolates_pods();
    BERTH_TRY(auto message, MessageMount(pod, container, attempt, options.volumes, !isolated));
    if (message) request.place.mounts.push_back(*std::move(message));
    if (isolated && IsTold(node_.options().pods, PlacementOf(pod, container)))
      request.place.mounts.push_back(MountOfPool(node_.options().pods));
    std::vector<std::string> conflicts;
    request.place.mounts = runtime::WithDevices(request.devices, std::move(request.place.mounts), conflicts);
    TellConflicts(pod, container, conflicts);
  }
  if (state.making.erase(container.name) == 0) {  // else what is there is this start's
    BERTH_TRY(const bool gone, KillLeftovers(pod, container.name, now));
    if (!gone) return std::nullopt;
  }
  auto made = node_.groups().ownership().MakeFor(node_.groups().pod_groups(), pod, container,
                                                 node_.allocations().ledger(), request);
  if (!made && node_.groups().site().IsUnderWay(made.error())) state.making.insert(container.name);
  if (!made) return LaterIfUnderWay(made.error(), now);
  state.mounting.erase(container.name);
  auto started = node_.runtime().Start(request);
  if (!started || started->state != runtime::ContainerState::kCreating)
    node_.groups().pod_groups().LetGo(pod, container.name);
  if (!started) return std::unexpected(std::move(started).error());
  return *std::move(started);
}

/// False: they are being made.
Result<bool> Starter::TakeMounts(const ManagedPod& managed, const Container& container,
                                 runtime::StartRequest& request) {
  if (container.mounts.empty()) return true;
  std::map<std::string, Mounting>& all = context_.StateOf(managed.pod.uid).mounting;
  const auto mounting = all.find(container.name);
  if (mounting == all.end() || mounting->second.attempt != request.attempt) {
    Mount(managed, container, request);
    return false;
  }
  if (auto& made = *mounting->second.made; made) {
    request.place.mounts = *made;  // kept until it is started: its groups may not be there yet
    return true;
  }
  auto problem = std::move(*mounting->second.made).error();
  all.erase(mounting);
  return std::unexpected(std::move(problem));
}

/// Files, mounts and paths of the host, which may hang: away from the loop.
void Starter::Mount(const ManagedPod& managed, const Container& container, const runtime::StartRequest& request) {
  context_.StateOf(managed.pod.uid)
      .mounting.insert_or_assign(container.name, Mounting{.attempt = request.attempt, .made = {}});
  const auto job = [pod = managed.pod, container, folders = context_.options().volumes, facts = request.place.facts,
                    env = request.env] {
    return MountsOf(pod, container, {.folders = folders, .node = facts, .env = env});
  };
  event_loop::Submit<std::vector<runtime::BoundMount>>(
      node_.executor(), VolumeQueue(managed.pod.uid), job,
      [&context = context_, &agenda = node_.agenda(), uid = managed.pod.uid,
       name = container.name](Result<std::vector<runtime::BoundMount>> mounts) {
        agenda.WakeNow();
        if (Mounting* const of = context.FindMounting(uid, name)) of->made = std::move(mounts);
      });
}

/// systemd is being asked for the groups: nothing came of the start yet.
Result<std::optional<runtime::ContainerStatus>> Starter::LaterIfUnderWay(const Error& error, os::MonoTime now) {
  if (!node_.groups().site().IsUnderWay(error)) return std::unexpected(error);
  node_.agenda().WakeAt(now + kLookAfterStart);
  return std::nullopt;
}

/// What an earlier attempt left behind, or somebody put there, does not go on beside the new one. False: it is dying,
/// which takes its time where the group has little CPU time or the node is busy. Errors: also kBusy, after kSlowDeath.
Result<bool> Starter::KillLeftovers(const Pod& pod, const std::string& container, os::MonoTime now) {
  auto killed = node_.groups().ownership().KillLeftovers(node_.groups().pod_groups(), pod, container);
  std::map<std::string, os::MonoTime>& dying = context_.StateOf(pod.uid).dying;
  if (!killed && killed.error().code == Code::kBusy) {
    const auto [since, first] = dying.try_emplace(container, now);
    const os::MonoTime::duration waited = now - since->second;
    if (waited < runtime::kSlowDeath) {
      node_.agenda().WakeAt(now +
                            std::clamp<os::MonoTime::duration>(waited / 2, kLookAfterStart, kLongestLookAtLeftovers));
      return false;
    }
  }
  dying.erase(container);
  if (!killed) return std::unexpected(std::move(killed).error());
  return true;
}

}  // namespace berth::pods
