#include "daemon/daemon.h"

#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "daemon/worker_lanes.h"
#include "host/os/psi_trigger.h"

namespace berth::daemon {
namespace {

const std::vector kSignals = {SIGHUP, SIGTERM, SIGINT};
// While there is work without end: a snapshot of many pods shall not take more than this part of the loop's time.
constexpr os::Millis kBetweenSnapshots{20};
constexpr os::Millis kLatestSnapshot{200};
constexpr int kPartOfTime = 5;
constexpr os::Millis kLastWork{10'000};  // for what workers were given before the end

}  // namespace

void PrepareSignals() {
  event_loop::BlockSignals(kSignals);
  std::signal(SIGPIPE, SIG_IGN);
}

/// Who is told of what. After this the loop may turn.
Result<void> Daemon::WatchAll() {
  const auto sync = [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { manager_->Tick(now); };
  BERTH_RETURN_IF_ERROR(
      loop_->TakeSignals(kSignals, [this](int signal) BERTH_REQUIRES(loop_thread) { TakeSignal(signal); }));
  BERTH_RETURN_IF_ERROR(loop_->Watch(host_->runtime().event_fd(), "runtime",
                                     [this](os::MonoTime now)
                                         BERTH_REQUIRES(loop_thread) { manager_->OnRuntime(now); }));
  BERTH_RETURN_IF_ERROR(loop_->Watch(history_->event_fd(), "history",
                                     [this](os::MonoTime) BERTH_REQUIRES(loop_thread) { TakeHistoryNotes(); }));
  if (writers_)
    BERTH_RETURN_IF_ERROR(loop_->Watch(writers_->fd(), "foreign writes",
                                       [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { TakeWrites(now); }));
  if (device_manager::Plugins* const plugins = node_->devices().plugins())
    BERTH_RETURN_IF_ERROR(loop_->Watch(plugins->event_fd(), "device plug-ins",
                                       [this](os::MonoTime) BERTH_REQUIRES(loop_thread) { manager_->OnDevices(); }));
  if (pressure_.valid())
    BERTH_RETURN_IF_ERROR(loop_->Watch(
        pressure_.get(), "memory pressure",
        [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { manager_->OnMemoryPressure(now); },
        event_loop::Loop::Ready::kUrgent));
  loop_->Keep("sync", [this]() BERTH_REQUIRES(loop_thread) { return manager_->next_due(); }, sync);
  loop_->Keep(
      "probes", [this]() BERTH_REQUIRES(loop_thread) { return manager_->next_probe(); },
      [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { manager_->TickProbes(now); });
  loop_->Keep(
      "device plug-ins", [this]() BERTH_REQUIRES(loop_thread) { return manager_->next_forgetting(); },
      [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { manager_->ForgetPlugins(now); });
  loop_->Keep(
      "places", [this]() BERTH_REQUIRES(loop_thread) { return host_->next_places(); },
      [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { host_->KeepPlaces(now); });
  loop_->Keep(
      "sign of life", [this]() BERTH_REQUIRES(loop_thread) { return next_sign_of_life_; },
      [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { GiveSignOfLife(now); });
  loop_->EachTurn("end of turn", [this](os::MonoTime) BERTH_REQUIRES(loop_thread) {
    TellStatus();
    Publish();
    if (Stopped()) loop_->Stop();
  });
  return {};
}

/// Who writes without end is heard for a part of each turn.
void Daemon::TakeWrites(os::MonoTime now) {
  constexpr os::Millis kPart{5};
  const os::Clock& clock = os::SystemClock();
  node_->OnWrites(writers_->Take(os::Slice(clock, clock.Now() + kPart)), now);
}

/// Without them (in a container, say) figures and cpusets are looked at all the same, only less often or later.
void Daemon::OpenHostWatches() {
  constexpr os::Millis kStall{150};
  constexpr os::Millis kWindow{1'000};
  if (host_->played()) return;
  if (auto trigger = os::OpenPressureTrigger("/proc/pressure/memory", kStall, kWindow)) pressure_ = *std::move(trigger);
  auto watch = os::WriteWatch::Open();
  if (!watch) {
    log_.Info(watch.error().message + "; who writes to cgroups of pods will not be named");
    return;
  }
  writers_ = *std::move(watch);
  node_->groups().table().set_watch([this](const std::string& dir) {
    if (auto added = writers_->Add(dir); !added) log_.Debug(added.error().message);
  });
}

Result<void> Daemon::Run() {
  notifier_.Send("READY=1");
  log_.Info(fmt::format("ready: node {}, {} CPUs ({}), pod folder {}, socket {}", settings_.berth.node_name,
                        node_->allocations().node().all_cpus().Count(),
                        FormatIds(node_->allocations().node().all_cpus()), settings_.pod_dir, settings_.berth.socket));
  ::malloc_trim(0);  // what reading machine and settings took is not needed again
  host_->tree().Rest();
  host_->tree().WaitBehind(pool_->lane(kDiskLane),
                           [this]() BERTH_REQUIRES(loop_thread) { node_->OnGroupsAnswered(os::SystemClock().Now()); });
  BERTH_RETURN_IF_ERROR(loop_->Run());
  EndCalls();
  servers_.reset();
  manager_->StopProbes();
  const auto stop = [this](const char* lane) { return pool_->lane(lane).Stop(kLastWork); };
  if (!stop(kProbeLane) || !stop(kHookLane) || !stop(kPluginLane))
    log_.Warning("some probes, hooks or calls of device plug-ins did not end in time");
  if (publishers_ && !stop(kPublishingLane)) log_.Warning("a call to the API server did not end in time");
  if (stop(kDiskLane)) {
    host_->tree().WaitHere();
    RemoveGroups();
  } else {  // somebody may still be asking systemd
    log_.Warning("some work did not end in time, and what waited behind it is not done; empty cgroups stay");
  }
  log_.Info(manager_->idle() ? "stopped" : "stopped; containers go on");
  return {};
}

/// The server's threads must not wait for a loop that is gone, nor for commands in containers.
void Daemon::EndCalls() {
  if (loop_) loop_->Close();
  if (front_end_) front_end_->Leave();
  if (host_) host_->GiveUp();
  if (publishers_) publishers_->GiveUp();
}

/// Others see what the loop has done at the end of a turn, or a moment later while it goes on at once. The history
/// hears of it after that: who finds an event there sees the figures that came with it.
void Daemon::Publish() {
  const os::MonoTime now = os::SystemClock().Now();
  if (!stopping_ && manager_->next_due() <= now && now < next_publishing_) return;
  if (auto state = snapshots_->Build()) {
    if (publishers_) publishers_->Publish(state);
    published_->Put(std::move(state));
  }
  const os::MonoTime::duration took = os::SystemClock().Now() - now;
  next_publishing_ = now + std::clamp<os::MonoTime::duration>(took * kPartOfTime, kBetweenSnapshots, kLatestSnapshot);
  for (const Event& event : std::exchange(untold_, {})) history_->Record(ToEntry(event));
}

void Daemon::TakeSignal(int signal) {
  if (signal == SIGHUP) {
    Reload();
  } else if (stopping_) {
    log_.Warning("asked twice to stop: containers are left as they are");
    ending_pods_ = false;
  } else {
    BeginStop();
  }
}

void Daemon::BeginStop() {
  stopping_ = true;
  ending_pods_ = settings_.berth.stop_containers_on_exit && front_end_->EndAll();
  notifier_.Send("STOPPING=1");
  log_.Info(ending_pods_ ? "stopping: containers are ended first" : "stopping: containers go on");
}

bool Daemon::Stopped() const { return stopping_ && (!ending_pods_ || manager_->idle()); }

void Daemon::TellOfNode(bool warning, const std::string& reason, const std::string& message) {
  events_->Tell(warning, reason, "node/" + settings_.berth.node_name, message);
}

void Daemon::TakeHistoryNotes() {
  for (const history::Note& note : history_->TakeNotes()) TellOfNode(note.warning, note.reason, note.message);
}

/// Files are read by a worker; systemd is told when it is done.
void Daemon::Reload() {
  const auto monotonic_us =
      std::chrono::duration_cast<std::chrono::microseconds>(os::SystemClock().Now().time_since_epoch()).count();
  notifier_.Send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", monotonic_us));
  event_loop::Submit<Settings>(
      pool_->lane(kDiskLane), "settings", [line = line_] { return LoadSettings(line); },
      [this](Result<Settings> loaded) BERTH_REQUIRES(loop_thread) { TakeSettings(std::move(loaded)); });
}

void Daemon::TakeSettings(Result<Settings> loaded) {
  const std::string object = "node/" + settings_.berth.node_name;
  if (!loaded) {
    events_->Warning("ReloadFailed", object, loaded.error().message + "; the old settings stay in force");
  } else {
    for (const std::string& warning : loaded->warnings) log_.Warning(warning);
    const std::vector<std::string> waiting = TakeReloadable(settings_, *loaded);
    log_.SetLevel(settings_.log_level);
    const auto kept = static_cast<std::size_t>(settings_.berth.max_events);
    events_->SetCapacity(std::min(kept, events::kEventsInMemory));
    history_->SetMaxEntries(kept);
    manager_->Reload(settings_.reconcile_period, settings_.berth.unknown_pods == "adopt");
    if (waiting.empty())
      events_->Normal("Reloaded", object, "settings were read again");
    else
      events_->Warning("RestartNeeded", object,
                       "changes of " + Join(waiting, ", ") + " take effect when berthd is restarted");
  }
  notifier_.Send("READY=1");
}

void Daemon::TellStatus() {
  const std::string status =
      fmt::format("STATUS={} pods, shared pool {}", node_->pods().size(), FormatIds(node_->allocations().SharedCpus()));
  if (status == last_status_) return;
  notifier_.Send(status);
  last_status_ = status;
}

/// Tells systemd's watchdog that the loop turns.
void Daemon::GiveSignOfLife(os::MonoTime now) {
  const auto period = notifier_.watchdog_period();
  if (period) notifier_.Send("WATCHDOG=1");
  next_sign_of_life_ = period ? now + *period : os::MonoTime::max();
}

/// Leaves nothing behind where nothing runs any more; otherwise the groups wait for the next berthd.
void Daemon::RemoveGroups() {
  if (!manager_->idle()) return;
  if (auto removed = host_->RemoveGroups(); !removed)
    log_.Warning("remove Berth's cgroups: " + removed.error().message);
}

}  // namespace berth::daemon
