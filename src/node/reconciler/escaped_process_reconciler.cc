#include "node/reconciler/escaped_process_reconciler.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "host/os/fs.h"

namespace berth::reconciler {
namespace {

constexpr os::Millis kLookAfterMaking{10};

int TaskOf(const cgroup::Stray& stray) { return stray.thread == 0 ? stray.pid : stray.thread; }

/// Into all groups of its container. Returns what came of it, for people; "": the groups are gone.
std::string MoveBack(os::Fs& root, const cgroup::Stray& stray, const std::vector<std::string>& dirs) {
  const char* const file = stray.thread == 0 ? "/cgroup.procs" : "/tasks";
  bool moved = false;
  for (const std::string& dir : dirs) {
    const auto there = root.Exists(dir);
    if (there && !*there) return "";
    const auto written = root.Write(dir + file, std::to_string(TaskOf(stray)));
    moved = moved || written;
    if (!written && written.error().code != Code::kNotFound) return "cannot be moved back: " + written.error().message;
  }
  return moved ? "moved back" : "left there: it has ended";
}

}  // namespace

/// Known by what the runtime says, not by their groups: these may be gone.
std::vector<EscapedProcessReconciler::Of> EscapedProcessReconciler::Running() const {
  std::vector<Of> out;
  const cgroup_manager::GroupTable& table = groups_.table();
  for (const auto& [uid, statuses] : pods_.statuses().all()) {
    const auto managed = pods_.pods().find(uid);
    if (managed == pods_.pods().end() || (!managed->second.claimed && !table.pods().contains(uid))) continue;
    for (const auto& [container, status] : statuses) {
      if (status.state != runtime::ContainerState::kRunning) continue;
      auto path = table.HomeOf(managed->second.pod, container);
      if (!path) continue;
      std::vector<std::string> dirs = groups_.site().tree().Dirs(*path).dirs;
      if (dirs.empty()) continue;  // only played
      cgroup::Home home{.path = groups_.site().names().FromTop(*path), .main_pid = status.pid};
      out.push_back({.path = *std::move(path),
                     .uid = uid,
                     .container = container,
                     .id = status.id,
                     .dirs = std::move(dirs),
                     .home = std::move(home)});
    }
  }
  return out;
}

void EscapedProcessReconciler::Look() {
  if (looking_) return;
  std::vector<Of> running = Running();
  if (running.empty()) {
    seen_.clear();
    told_.clear();
    return;
  }
  looking_ = true;
  Submit(std::move(running), &EscapedProcessReconciler::Take);
}

void EscapedProcessReconciler::Submit(std::vector<Of> of,
                                      void (EscapedProcessReconciler::*take)(const std::vector<Of>&,
                                                                             const std::vector<Seen>&)) {
  const auto shared = std::make_shared<const std::vector<Of>>(std::move(of));
  // A thread of any of them may get onto CPUs that a container has for itself.
  const cgroup::Threads threads =
      TakenCpus(allocations_.ledger()).empty() ? cgroup::Threads::kNo : cgroup::Threads::kYes;
  tasks_.Submit<std::vector<Seen>>(
      "strays",
      [shared, threads, layout = groups_.site().tree().layout(), before = seen_,
       left = groups_.ownership().WhyLeftOutside()] { return LookAndReturn(layout, *shared, threads, before, left); },
      [this, shared, take](const Result<std::vector<Seen>>& seen) {
        if (!seen && !failed_)
          events_.Warning("StrayLookFailed", allocations_.ObjectOfNode(),
                          "processes that leave their container's cpuset are not noticed: " + seen.error().message +
                              "; tried again");
        failed_ = !seen;
        (this->*take)(*shared, seen ? *seen : std::vector<Seen>());
      });
}

Result<std::vector<EscapedProcessReconciler::Seen>> EscapedProcessReconciler::LookAndReturn(
    const cgroup::Layout& layout, const std::vector<Of>& of, cgroup::Threads threads, const Known& before,
    const std::string& left) {
  BERTH_TRY(const auto root, os::OpenFs("/"));
  std::vector<cgroup::Home> homes;
  for (const Of& one : of) homes.push_back(one.home);
  BERTH_TRY(std::vector<cgroup::Stray> strays, cgroup::FindStrays(*root, layout, homes, threads));
  std::vector<Seen> out;
  for (cgroup::Stray& stray : strays) {
    const bool again = before.contains({TaskOf(stray), stray.cpuset});
    std::string outcome = left;
    if (left.empty() && again) outcome = MoveBack(*root, stray, of[stray.home].dirs);
    const bool homeless = again && outcome.empty();
    out.push_back({.stray = std::move(stray), .homeless = homeless, .outcome = again ? std::move(outcome) : ""});
  }
  return out;
}

void EscapedProcessReconciler::Take(const std::vector<Of>& of, const std::vector<Seen>& seen) {
  looking_ = false;
  seen_.clear();
  std::map<std::size_t, std::vector<const Seen*>> again;  // by container
  std::set<std::string> told;
  for (const Seen& one : seen) {
    const Of& home = of[one.stray.home];
    seen_.emplace(TaskOf(one.stray), one.stray.cpuset);
    if (one.homeless) {
      homeless_.emplace(home.path, home);
      if (told_.contains(home.path)) told.insert(home.path);
    }
    if (!one.outcome.empty()) again[one.stray.home].push_back(&one);
  }
  for (const auto& [home, strays] : again) {
    if (!told_.contains(of[home].path)) Tell(of[home], *strays.front(), strays.size() - 1);
    told.insert(of[home].path);
  }
  told_ = std::move(told);
  if (!homeless_.empty()) pods_.agenda().WakeNow();
}

/// The same container, and nobody has begun to end it.
bool EscapedProcessReconciler::StillRuns(const Of& of) const {
  const auto managed = pods_.pods().find(of.uid);
  const auto statuses = pods_.statuses().all().find(of.uid);
  if (managed == pods_.pods().end() || statuses == pods_.statuses().all().end()) return false;
  const auto status = statuses->second.find(of.container);
  return managed->second.claimed && managed->second.Is<pods::Admitted>() && status != statuses->second.end() &&
         status->second.id == of.id && status->second.state == runtime::ContainerState::kRunning;
}

void EscapedProcessReconciler::Work(os::MonoTime now) {
  for (auto next = homeless_.begin(); next != homeless_.end();) {
    const auto entry = next++;
    Of& of = entry->second;
    if (StillRuns(of)) {
      if (!MakeGroups(of, now)) continue;
    } else if (const auto pod = pods_.pods().find(of.uid); pod != pods_.pods().end()) {
      groups_.pod_groups().GiveUp(pod->second.pod, of.container);
    }
    homeless_.erase(entry);
  }
}

/// False: systemd is being asked. What was made is kept until the strays are in it.
bool EscapedProcessReconciler::MakeGroups(Of& of, os::MonoTime now) {
  const Pod& pod = pods_.pods().find(of.uid)->second.pod;
  const pods::FoundContainer found = pods::FindContainer(pod, of.container);
  if (found.container == nullptr) return true;
  auto dirs = groups_.pod_groups().MakeContainer(pod, *found.container, allocations_.ledger());
  if (dirs) {
    of.dirs = std::move(dirs->dirs);
    Submit({of}, &EscapedProcessReconciler::TakeMoved);
    return true;
  }
  if (groups_.site().IsUnderWay(dirs.error())) {
    pods_.agenda().WakeAt(now + kLookAfterMaking);
    return false;
  }
  if (told_.insert(of.path).second)
    events_.Warning("StrayProcess", pods::ObjectOf(pod),
                    fmt::format("container {}: all its processes had left its cgroup, which is gone and cannot be "
                                "made again to move them back: {}; tried again",
                                of.container, dirs.error().message));
  return true;
}

void EscapedProcessReconciler::TakeMoved(const std::vector<Of>& of, const std::vector<Seen>& seen) {
  const Of& home = of.front();
  if (StillRuns(home)) {  // else its end, or its next start, lets go
    const auto pod = pods_.pods().find(home.uid);
    groups_.pod_groups().LetGo(pod->second.pod, home.container);
  }
  std::vector<const Seen*> moved;
  for (const Seen& one : seen)
    if (!one.outcome.empty()) moved.push_back(&one);
  if (moved.empty() || !told_.insert(home.path).second) return;
  Seen first = *moved.front();
  first.outcome += " (its cgroup was gone, and was made again)";
  Tell(home, first, moved.size() - 1);
}

void EscapedProcessReconciler::Tell(const Of& of, const Seen& first, std::size_t others) {
  const auto pod = pods_.pods().find(of.uid);
  const std::string more = others == 0 ? "" : fmt::format(" (and {} more)", others);
  events_.Warning("StrayProcess", pod == pods_.pods().end() ? "pod/" + of.uid : pods::ObjectOf(pod->second.pod),
                  fmt::format("container {}: its {}{} had left for the cpuset {}; {}", of.container,
                              cgroup::NameOf(first.stray), more, Printable(first.stray.cpuset), first.outcome));
}

}  // namespace berth::reconciler
