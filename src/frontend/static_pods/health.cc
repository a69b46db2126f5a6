#include "frontend/static_pods/health.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <variant>

#include "base/text.h"
#include "base/time_text.h"
#include "frontend/static_pods/container_starter.h"

namespace berth::pods {
namespace {

const Probe* ProbeOf(const Container& container, ProbeKind kind) {
  const auto of = [](const std::optional<Probe>& probe) { return probe ? &*probe : nullptr; };
  switch (kind) {
    case ProbeKind::kStartup: return of(container.startup);
    case ProbeKind::kLiveness: return of(container.liveness);
    case ProbeKind::kReadiness: return of(container.readiness);
  }
  return nullptr;
}

bool HasProbes(const Pod& pod) {
  bool out = false;
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    out = out || container.startup || container.liveness || container.readiness;
  });
  return out;
}

/// What to ask of a container that runs.
std::vector<ProbeKind> KindsFor(const runtime::ContainerView& view, bool ending) {
  if (ending) return view.started ? std::vector{ProbeKind::kReadiness} : std::vector<ProbeKind>();
  if (!view.started) return {ProbeKind::kStartup};
  return {ProbeKind::kLiveness, ProbeKind::kReadiness};
}

/// The moment a container started; one that is seen for the first time in this berthd's life started earlier.
os::MonoTime StartOf(const runtime::ContainerView& view, os::MonoTime now, os::WallTime wall) {
  const auto started = ParseTime(view.last->started_at);
  return started && *started < wall ? now - (wall - *started) : now;
}

}  // namespace

std::string_view Name(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup: return "Startup";
    case ProbeKind::kLiveness: return "Liveness";
    case ProbeKind::kReadiness: return "Readiness";
  }
  return "";
}

void Health::Look(const ManagedPod& managed, os::MonoTime now) {
  const std::string& uid = managed.pod.uid;
  const auto known = pods_.find(uid);
  if (known == pods_.end() && (stopped_ || !managed.lifecycle || !HasProbes(managed.pod))) return;
  if (known != pods_.end() && (!managed.lifecycle || managed.lifecycle->finished())) {
    return Forget(uid);
  }
  if (known != pods_.end() && known->second.version == managed.lifecycle->version()) return;
  LookAt(managed, pods_[uid], now);
}

void Health::LookAt(const ManagedPod& managed, Known& known, os::MonoTime now) {
  const bool first = known.version == 0;
  known.version = managed.lifecycle->version();
  std::map<std::string, os::MonoTime> since;
  std::map<Wanted, const runtime::ContainerView*> wanted;
  const std::vector<runtime::ContainerView> views = managed.lifecycle->containers();
  for (const runtime::ContainerView& view : views) {
    if (view.state != ContainerPhase::kRunning || !view.last || view.in_post_start) continue;
    const auto before = known.since.find(view.last->id);
    if (first) known.found.insert(view.last->id);
    since[view.last->id] = before != known.since.end() ? before->second
                           : first                     ? StartOf(view, now, node_.clock().Wall())
                                                       : now;
    const FoundContainer found = FindContainer(managed.pod, view.name);
    if (found.container == nullptr || managed.lifecycle->EndsUnhealthy(view.last->id)) continue;
    for (const ProbeKind kind : KindsFor(view, managed.lifecycle->ending()))
      if (ProbeOf(*found.container, kind) != nullptr) wanted.emplace(Wanted(view.last->id, kind), &view);
  }
  known.since = std::move(since);
  std::erase_if(known.watches, [&](std::uint64_t key) {
    const Watch& watch = watches_.find(key)->second;
    if (wanted.erase({watch.id, watch.kind}) != 0) return false;
    End(key);
    return true;
  });
  for (const auto& [what, view] : wanted) Begin(managed, known, *view, what.second, now);
}

void Health::Begin(const ManagedPod& managed, Known& known, const runtime::ContainerView& view, ProbeKind kind,
                   os::MonoTime now) {
  const Probe& probe = *ProbeOf(*FindContainer(managed.pod, view.name).container, kind);
  const os::Millis period = std::chrono::seconds(probe.period_s);
  os::MonoTime first = known.since[view.last->id] + std::chrono::seconds(probe.initial_delay_s);
  const std::uint64_t key = ++last_;
  if (first + period < now) {  // found running: not all of them at once
    const std::size_t spread = std::hash<std::string>()(view.last->id) % static_cast<std::size_t>(period.count());
    first = now + (known.found.contains(view.last->id) ? os::Millis(spread) : os::Millis(0));
  }
  watches_.emplace(key, Watch{.uid = managed.pod.uid,
                              .container = view.name,
                              .id = view.last->id,
                              .kind = kind,
                              .state = probes::ProbeState(probe, std::max(first, now))});
  known.watches.push_back(key);
  due_.emplace(std::max(first, now), key);
}

void Health::End(std::uint64_t watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  due_.erase({found->second.state.due(), watch});
  watches_.erase(found);
}

void Health::Stop() {
  stopped_ = true;
  due_.clear();
  if (cancel_) cancel_->ours.reset();
}

// ---- asking ----

void Health::Tick(os::MonoTime now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const std::uint64_t key = due_.begin()->second;
    due_.erase(due_.begin());
    Watch& watch = watches_.find(key)->second;
    const auto pod = node_.pods().find(watch.uid);
    const Container* const container =
        pod == node_.pods().end() ? nullptr : FindContainer(pod->second.pod, watch.container).container;
    const Probe* const probe = container == nullptr ? nullptr : ProbeOf(*container, watch.kind);
    if (probe == nullptr || !pod->second.lifecycle) {
      Forget(std::string(watch.uid));
    } else {
      Ask(key, watch, pod->second, *container, *probe, now);
    }
  }
}

/// Nobody is left to be asked, or the manifest is another.
void Health::Forget(const std::string& uid) {
  const auto known = pods_.find(uid);
  if (known == pods_.end()) return;
  for (const std::uint64_t watch : known->second.watches) End(watch);
  pods_.erase(known);
}

void Health::Ask(std::uint64_t key, Watch& watch, const ManagedPod& managed, const Container& container,
                 const Probe& probe, os::MonoTime now) {
  watch.state.Asked(now);
  if (!cancel_) {
    auto pair = os::MakeSocketPair();
    if (!pair) return Answered(key, {.kind = probes::Outcome::Kind::kError, .text = pair.error().message});
    cancel_ = std::make_shared<os::SocketPair>(*std::move(pair));
  }
  auto target = TargetFor(managed, watch, container, probe);
  if (!target) return Answered(key, {.kind = probes::Outcome::Kind::kError, .text = target.error().message});
  auto outcome = std::make_shared<probes::Outcome>();
  executor_.Run(
      fmt::format("probe/{}", key),
      [outcome, cancel = cancel_, limit = os::Millis(std::chrono::seconds(probe.timeout_s)),
       target = std::move(*target)]() mutable {
        *outcome = probes::Ask(std::move(target), limit, cancel->theirs.get());
      },
      [this, key, outcome] { Answered(key, *outcome); });
}

Result<probes::Target> Health::TargetFor(const ManagedPod& managed, const Watch& watch, const Container& container,
                                         const Probe& probe) {
  if (const auto* exec = std::get_if<ExecCheck>(&probe.check)) {
    BERTH_TRY(runtime::ExecJob job, node_.runtime().PrepareExec(watch.id, exec->command));
    return probes::Target(probes::ExecTarget{std::move(job)});
  }
  const std::vector<std::string> addresses = context_.AddressesOf(managed.pod);
  std::string address = addresses.empty() ? "" : addresses.front();
  if (address.empty() && context_.IsInNodesNetwork(managed.pod)) address = "127.0.0.1";  // a node without a network
  const auto target = [&](const auto& check) -> Result<probes::Target> {
    if constexpr (std::is_same_v<std::decay_t<decltype(check)>, ExecCheck>) {
      return Fail(Code::kInternal, "a command has no address");
    } else {
      BERTH_TRY(auto of, probes::TargetOf(check, container, address));
      return probes::Target(std::move(of));
    }
  };
  return std::visit(target, probe.check);
}

/// The container may be gone, or be ended by another probe: then nobody waits for it.
void Health::Answered(std::uint64_t key, const probes::Outcome& outcome) {
  const auto found = watches_.find(key);
  if (found == watches_.end() || stopped_) return;
  Watch& watch = found->second;
  due_.emplace(watch.state.due(), key);
  const auto pod = node_.pods().find(watch.uid);
  if (pod == node_.pods().end() || !pod->second.lifecycle) return;
  Tell(pod->second, watch, outcome);
  if (outcome.kind == probes::Outcome::Kind::kError) return;
  if (const auto enough = watch.state.Take(outcome.success())) Conclude(pod->second, watch, *enough);
}

void Health::Tell(ManagedPod& managed, const Watch& watch, const probes::Outcome& outcome) {
  const std::string object = ObjectOf(managed.pod);
  const auto text = [&](std::string_view how) {
    return fmt::format("container {}: {} probe {}: {}", watch.container, Name(watch.kind), how, outcome.text);
  };
  switch (outcome.kind) {
    case probes::Outcome::Kind::kSuccess: return;
    case probes::Outcome::Kind::kWarning: return node_.events().Warning("ProbeWarning", object, text("warning"));
    case probes::Outcome::Kind::kFailure: return node_.events().Warning("Unhealthy", object, text("failed"));
    case probes::Outcome::Kind::kError: return node_.events().Warning("Unhealthy", object, text("errored"));
  }
}

/// Enough answers agree.
void Health::Conclude(ManagedPod& managed, const Watch& watch, bool success) {
  runtime::PodLifecycle& life = *managed.lifecycle;
  const std::uint64_t before = life.version();
  if (watch.kind == ProbeKind::kReadiness) {
    life.SetReady(watch.id, success);
  } else if (watch.kind == ProbeKind::kStartup && success) {
    life.SetStarted(watch.id);
  } else if (!success) {
    const FoundContainer found = FindContainer(managed.pod, watch.container);
    const Probe* const probe = found.container == nullptr ? nullptr : ProbeOf(*found.container, watch.kind);
    const std::int64_t pods = managed.pod.termination_grace_s;
    const std::int64_t grace = probe == nullptr ? pods : probe->termination_grace_s.value_or(pods);
    const bool again = life.RestartsUnhealthy(watch.id);
    const os::MonoTime now = node_.clock().Now();
    if (life.EndUnhealthy(watch.id, now,
                          std::chrono::seconds(std::clamp<std::int64_t>(grace, 0, runtime::kLongestGraceS))))
      node_.events().Normal(
          "Killing", ObjectOf(managed.pod),
          fmt::format("container {} failed {} probe{}", watch.container,
                      watch.kind == ProbeKind::kLiveness ? "liveness" : "startup", again ? ", will be restarted" : ""));
  }
  if (life.version() == before) return;
  context_.Keep(managed);  // before anybody sees it
  node_.agenda().WakeNow();
  Look(managed, node_.clock().Now());  // `watch` may be gone
}

}  // namespace berth::pods
