#include "guard/stray_guard.h"

#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "loop/executor.h"
#include "os/fs.h"

namespace berth::guard {
namespace {

/// Into all groups of its container. Returns what came of it, for people.
std::string MoveBack(os::Fs& root, int pid, const std::vector<std::string>& dirs) {
  bool any = false;
  for (const std::string& dir : dirs) {
    const auto moved = root.Write(dir + "/cgroup.procs", std::to_string(pid));
    any = any || moved;
    if (!moved && moved.error().code != Code::kNotFound) return "cannot be moved back: " + moved.error().message;
  }
  return any ? "moved back" : "left there: it has ended, or the groups of its container have";
}

}  // namespace

void StrayGuard::Look() {
  if (looking_) return;
  auto of = std::make_shared<std::vector<Of>>();
  std::vector<cgroup::Home> homes;
  for (const auto& [path, group] : parts_.groups.table().containers()) {
    const auto pod = parts_.records.all().find(group.uid);
    std::vector<std::string> dirs = parts_.tree.Dirs(path).dirs;
    if (pod == parts_.records.all().end() || dirs.empty()) continue;  // only played
    const auto status = pod->second.find(group.container);
    if (status == pod->second.end() || status->second.state != runtime::ContainerState::kRunning) continue;
    of->push_back({.path = path, .uid = group.uid, .container = group.container, .dirs = std::move(dirs)});
    homes.push_back({.path = parts_.groups.site().names().FromTop(path), .main_pid = status->second.pid});
  }
  if (homes.empty()) {
    seen_.clear();
    told_.clear();
    return;
  }
  looking_ = true;
  loop::Submit<std::vector<Seen>>(
      parts_.executor, "strays",
      [of, homes = std::move(homes), before = seen_, may_move = !parts_.runtime.makes_groups()] {
        return LookAndReturn(*of, homes, before, may_move);
      },
      [this, alive = std::weak_ptr(alive_), of](const Result<std::vector<Seen>>& seen) {
        if (alive.expired()) return;
        looking_ = false;
        if (seen) Take(*of, *seen);
      });
}

Result<std::vector<StrayGuard::Seen>> StrayGuard::LookAndReturn(const std::vector<Of>& of,
                                                                const std::vector<cgroup::Home>& homes,
                                                                const Known& before, bool may_move) {
  BERTH_TRY(const auto root, os::OpenFs("/"));
  BERTH_TRY(std::vector<cgroup::Stray> strays, cgroup::FindStrays(*root, homes));
  std::vector<Seen> out;
  for (cgroup::Stray& stray : strays) {
    std::string outcome;
    if (before.contains({stray.pid, stray.cpuset}))
      outcome = may_move ? MoveBack(*root, stray.pid, of[stray.home].dirs)
                         : "left there: its container's runtime makes groups itself";
    out.push_back({.stray = std::move(stray), .outcome = std::move(outcome)});
  }
  return out;
}

void StrayGuard::Take(const std::vector<Of>& of, const std::vector<Seen>& seen) {
  seen_.clear();
  std::map<std::size_t, std::vector<const Seen*>> again;  // by container
  for (const Seen& one : seen) {
    seen_.emplace(one.stray.pid, one.stray.cpuset);
    if (!one.outcome.empty()) again[one.stray.home].push_back(&one);
  }
  std::set<std::string> told;
  for (const auto& [home, strays] : again) {
    if (!told_.contains(of[home].path)) Tell(of[home], *strays.front(), strays.size() - 1);
    told.insert(of[home].path);
  }
  told_ = std::move(told);
}

void StrayGuard::Tell(const Of& of, const Seen& first, std::size_t others) {
  const auto pod = parts_.pods.find(of.uid);
  const std::string more = others == 0 ? "" : fmt::format(" (and {} more)", others);
  parts_.events.Warning(
      "StrayProcess", pod == parts_.pods.end() ? "pod/" + of.uid : pods::ObjectOf(pod->second.pod),
      fmt::format("container {}: its process {} ({}){} had left for the cpuset {}; {}", of.container, first.stray.pid,
                  Printable(first.stray.name), more, Printable(first.stray.cpuset), first.outcome));
}

}  // namespace berth::guard
