// Daemon: berthd and the host's processes, each in the group that settings name for them.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "daemon/daemon.h"
#include "daemon/own_group.h"
#include "daemon/reserved_groups.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kPlacePeriod{60'000};
constexpr int kFirstPasses = 11;  // as often as the kubelet tries when it starts
constexpr std::size_t kMostNamed = 5;

}  // namespace

/// After berthd has left the root cgroup itself.
Result<void> Daemon::OpenSystemGroup() {
  const std::string score = std::to_string(settings_.kubelet.oom_score_adj);
  if (auto set = root_fs_->Write("/proc/self/oom_score_adj", score); !set)
    log_.Info("oomScoreAdj: " + set.error().message + "; berthd keeps the one it was started with");
  const std::string& group = settings_.kubelet.system_cgroups;
  if (group.empty()) return {};
  system_.emplace(*root_fs_, tree_->layout(), group);
  BERTH_TRY(const bool there, system_->GroupsExist());
  if (there) return {};
  BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
  if (auto made = cgroup::Tree::Open(std::move(fs), tree_->layout(), group); !made)
    return Wrap(std::move(made).error(), "systemCgroups: make " + group);
  return {};
}

void Daemon::KeepPlaces(os::MonoTime now) {
  const bool first = next_places_ == os::MonoTime();
  next_places_ = now + kPlacePeriod;
  if (dry_run_ || beside_kubelet()) return;
  ReturnToOwnGroup();
  if (system_) ClearRootGroup(first ? kFirstPasses : 1);
  if (!first) RepairReserved();
}

/// Of these groups only the values are Berth's, and nothing tells when others write to them.
void Daemon::RepairReserved() {
  if (reserved_.empty()) return;
  const auto look = [layout = tree_->layout(), driver = names_.driver(),
                     groups = reserved_]() -> Result<ReservedEdits> {
    ReservedEdits out;
    for (const cgroup::ReservedGroup& group : groups) {
      const auto path = PathOfReserved(driver, group);
      auto edited = EnforceReserved("/", layout, driver, group);
      if (!edited)
        out.problem = edited.error().message;
      else
        for (ValueLine& line : *edited) out.list.emplace_back(path.value_or(group.group), std::move(line));
    }
    return out;
  };
  event_loop::Submit<ReservedEdits>(*workers_, "places", look, [this](Result<ReservedEdits> edits) {
    if (edits) TakeReserved(*edits);
  });
}

void Daemon::TakeReserved(const ReservedEdits& edits) {
  for (const auto& [path, line] : edits.list)
    events_->Warning("CgroupRepaired", "cgroup" + path,
                     fmt::format("{} was {}, must be {}; put right", line.file, line.found, line.wanted));
  if (!edits.problem.empty() && edits.problem != reserved_problem_)
    events_->Warning("FailedNodeAllocatableEnforcement", "node/" + settings_.berth.node_name, edits.problem);
  reserved_problem_ = edits.problem;
}

/// Whoever moved berthd elsewhere may have put it onto CPUs of containers.
void Daemon::ReturnToOwnGroup() {
  const auto text = root_fs_->Read("proc/self/cgroup");
  if (!text) return;
  std::vector<std::string> now = CurrentGroups(tree_->layout(), *text);
  std::vector<std::string> own = tree_->Dirs(names_.Own()).dirs;
  std::ranges::sort(now);
  std::ranges::sort(own);
  if (std::ranges::includes(own, now)) return;
  const std::string object = "cgroup/" + names_.Own();
  if (auto moved = MoveSelf(*root_fs_, tree_->Dirs(names_.Own()).dirs); !moved) {
    events_->Warning("FailedCgroupUpdate", object, "berthd was moved out of its group: " + moved.error().message);
  } else {
    events_->Warning("CgroupRepaired", object, fmt::format("berthd was in {}; put right", Join(now, ", ")));
  }
}

/// Who is where is read from /proc, process by process.
void Daemon::ClearRootGroup(int passes) {
  event_loop::Submit<SystemProcesses::Moved>(
      *workers_, "places", [this, passes] { return system_->Move(passes); },
      [this](auto moved) { TakeMoved(std::move(moved)); });
}

void Daemon::TakeMoved(Result<SystemProcesses::Moved> moved) {
  const std::string object =
      "cgroup" + (settings_.kubelet.system_cgroups.starts_with('/') ? settings_.kubelet.system_cgroups
                                                                    : "/" + settings_.kubelet.system_cgroups);
  std::string problem;
  if (!moved) {
    problem = moved.error().message;
  } else {
    if (moved->count > 0)
      events_->Normal("SystemProcessesMoved", object,
                      fmt::format("{} processes were moved here from the root cgroup", moved->count));
    const std::size_t count = moved->refused.size();
    moved->refused.resize(std::min(count, kMostNamed));
    if (count > 0) problem = fmt::format("{} processes stay in the root cgroup: {}", count, Join(moved->refused, "; "));
  }
  if (!problem.empty() && problem != system_problem_) events_->Warning("SystemProcessesNotMoved", object, problem);
  system_problem_ = std::move(problem);
}

}  // namespace berth::daemon
