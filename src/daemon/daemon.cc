#include "daemon/daemon.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "cgroup/leftover_groups.h"
#include "daemon/own_group.h"

namespace berth::daemon {

Result<void> Daemon::Watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0 && errno != EEXIST)
    return FailErrno("watch a descriptor", "", errno);
  return {};
}

Result<void> Daemon::Run() {
  notifier_.Send("READY=1");
  log_.Info(fmt::format("ready: node {}, {} CPUs ({}), pod folder {}, socket {}", settings_.berth.node_name,
                        manager_->node().all_cpus().Count(), FormatIds(manager_->node().all_cpus()), settings_.pod_dir,
                        settings_.berth.socket));
  ::malloc_trim(0);  // what reading machine and settings took is not needed again
  while (!Stopped()) {
    const os::MonoTime now = os::SystemClock().Now();
    if (auto snapshot = source_->Poll(now)) manager_->OnSnapshot(*std::move(snapshot), now);
    if (now >= manager_->next_due()) manager_->Tick(now);
    if (Stopped()) break;
    if (now >= next_places_) KeepPlaces(now);
    Notify(now);
    Publish();
    Arm();
    BERTH_RETURN_IF_ERROR(WaitForSomething());
  }
  EndCalls();
  server_.reset();
  RemoveGroups();
  log_.Info(manager_->idle() ? "stopped" : "stopped; containers go on");
  return {};
}

/// The server's threads must not wait for a loop that is gone, nor for commands in containers.
void Daemon::EndCalls() {
  if (mailbox_) mailbox_->Close();
  if (calls_) calls_->GiveUp();
}

Result<void> Daemon::WaitForSomething() {
  std::array<epoll_event, 8> ready{};
  tree_->Rest();
  const int count = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), -1);
  if (count < 0 && errno != EINTR) return FailErrno("wait for events", "", errno);
  for (int i = 0; i < count; ++i) {
    const int fd = ready[static_cast<std::size_t>(i)].data.fd;
    if (fd == signals_.get()) TakeSignals();
    if (fd == mailbox_->fd()) mailbox_->RunAll();
    if (fd == loop_->fd()) BERTH_RETURN_IF_ERROR(loop_->Turn(false));
    if (fd == runtime_->event_fd()) manager_->OnRuntime(os::SystemClock().Now());
    if (fd == history_->event_fd()) TakeHistoryNotes();
    if (writers_ && fd == writers_->fd()) TakeForeignWrites();
    if (fd == pressure_.get()) manager_->OnMemoryPressure(os::SystemClock().Now());
    if (fd == timer_.get()) {
      std::uint64_t expirations = 0;
      [[maybe_unused]] const ssize_t got = ::read(fd, &expirations, sizeof expirations);
    }
  }
  return {};
}

/// Others see what the loop has done when it has nothing more to do.
void Daemon::Publish() {
  if (auto state = snapshots_->Build()) published_->Put(std::move(state));
}

/// One timer for whatever comes first: pods, source, watchdog.
void Daemon::Arm() {
  os::MonoTime due = std::min({manager_->next_due(), source_->next_due(), next_places_});
  if (next_watchdog_) due = std::min(due, *next_watchdog_);
  const auto since_start = std::max<std::int64_t>(1, due.time_since_epoch().count());
  itimerspec spec{};
  spec.it_value.tv_sec = since_start / 1'000'000'000;
  spec.it_value.tv_nsec = since_start % 1'000'000'000;
  // steady_clock is CLOCK_MONOTONIC; the call fails for a bad descriptor or value only.
  BERTH_CHECK(::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
}

void Daemon::TakeSignals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (info.ssi_signo == SIGHUP) {
      Reload();
    } else if (stopping_) {
      log_.Warning("asked twice to stop: containers are left as they are");
      ending_pods_ = false;
    } else {
      BeginStop();
    }
  }
}

void Daemon::BeginStop() {
  stopping_ = true;
  ending_pods_ = settings_.berth.stop_containers_on_exit;
  notifier_.Send("STOPPING=1");
  log_.Info(ending_pods_ ? "stopping: containers are ended first" : "stopping: containers go on");
  if (ending_pods_) manager_->StopAll(os::SystemClock().Now());
}

bool Daemon::Stopped() const { return stopping_ && (!ending_pods_ || manager_->idle()); }

/// Only cpusets are put right; other values somebody writes are his, unless it was systemd that wrote them.
void Daemon::TakeForeignWrites() {
  const os::MonoTime now = os::SystemClock().Now();
  os::WriteWatch::Writes writes = writers_->Take();
  for (os::FileWrite& write : writes.list) {
    const std::size_t slash = write.path.rfind('/');
    if (slash != std::string::npos && write.pid == 1 && names_.driver() == cgroup::Driver::kSystemd)
      manager_->OnSystemdWrite(write.path.substr(0, slash), now);
    if (slash == std::string::npos || !write.path.substr(slash + 1).starts_with("cpuset.")) continue;
    manager_->OnForeignWrite(write.path.substr(0, slash), std::move(write.who), now);
  }
  if (writes.lost) manager_->CheckSoon(now);
}

void Daemon::TakeHistoryNotes() {
  const std::string object = "node/" + settings_.berth.node_name;
  for (history::Note& note : history_->TakeNotes()) {
    if (note.warning)
      events_->Warning(std::move(note.reason), object, std::move(note.message));
    else
      events_->Normal(std::move(note.reason), object, std::move(note.message));
  }
}

void Daemon::Reload() {
  const auto monotonic_us =
      std::chrono::duration_cast<std::chrono::microseconds>(os::SystemClock().Now().time_since_epoch()).count();
  notifier_.Send(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", monotonic_us));
  const std::string object = "node/" + settings_.berth.node_name;
  if (auto loaded = LoadSettings(line_); !loaded) {
    events_->Warning("ReloadFailed", object, loaded.error().message + "; the old settings stay in force");
  } else {
    for (const std::string& warning : loaded->warnings) log_.Warning(warning);
    const std::vector<std::string> waiting = TakeReloadable(settings_, *loaded);
    log_.SetLevel(settings_.log_level);
    const auto kept = static_cast<std::size_t>(settings_.berth.max_events);
    events_->SetCapacity(std::min(kept, events::kEventsInMemory));
    history_->SetMaxEntries(kept);
    manager_->Reload(settings_.berth.reconcile_period, settings_.berth.unknown_pods == "adopt");
    if (waiting.empty())
      events_->Normal("Reloaded", object, "settings were read again");
    else
      events_->Warning("RestartNeeded", object,
                       "changes of " + Join(waiting, ", ") + " take effect when berthd is restarted");
  }
  notifier_.Send("READY=1");
}

void Daemon::Notify(os::MonoTime now) {
  const std::string status = fmt::format("STATUS={} pods, shared pool {}", manager_->pods().size(),
                                         FormatIds(manager_->keeper().SharedCpus()));
  if (status != last_status_) {
    notifier_.Send(status);
    last_status_ = status;
  }
  const auto period = notifier_.watchdog_period();
  if (!period || (next_watchdog_ && now < *next_watchdog_)) return;
  notifier_.Send("WATCHDOG=1");
  next_watchdog_ = now + *period;
}

/// Leaves nothing behind where nothing runs any more; otherwise the groups wait for the next berthd.
void Daemon::RemoveGroups() {
  if (dry_run_ || !manager_->idle()) return;
  const std::string all = names_.Qos(QosClass::kGuaranteed);
  const std::string tier = all.empty() ? "" : names_.FromTop(all);
  auto moved = MoveSelf(*root_fs_, home_groups_);
  if (moved) moved = manager_->groups().tiers().RemoveAll();
  if (!moved) {
    log_.Warning("remove Berth's cgroups: " + moved.error().message);
    return;
  }
  if (runtime_->makes_groups()) cgroup::RemoveLeftoverGroups(*root_fs_, tier);
  tree_->RemoveRoot();
  if (runtime_->makes_groups()) cgroup::RemoveLeftoverGroups(*root_fs_, names_.root());
}

}  // namespace berth::daemon
