#include "host/cgroup/escaped_processes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "host/cgroup/membership.h"
#include "host/os/path.h"
#include "host/os/pidfd.h"

namespace berth::cgroup {
namespace {

constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD
constexpr std::uint64_t kExiting = 0x00000004;       // PF_EXITING: v1 shows it in the root of each hierarchy
constexpr int kMostAncestors = 1'000;                // /proc is no snapshot: parents may seem to go round

struct Process {
  std::string name;
  int parent = 0;
  int session = 0;
  bool exiting = false;
};

/// nullopt: it is gone, or the kernel's own.
std::optional<Process> ReadProcess(os::Fs& root, const std::string& dir) {
  const auto stat = root.Read(dir + "/stat");
  if (!stat) return std::nullopt;
  const auto parent = os::StatField(*stat, 4);
  const auto session = os::StatField(*stat, 6);
  const auto flags = os::StatField(*stat, 9);
  if (!parent || !session || !flags || (*flags & kKernelThread) != 0) return std::nullopt;
  const std::size_t begin = stat->find('(') + 1;
  const std::size_t end = stat->rfind(')');
  return Process{.name = end < begin ? "" : stat->substr(begin, end - begin),
                 .parent = static_cast<int>(*parent),
                 .session = static_cast<int>(*session),
                 .exiting = (*flags & kExiting) != 0};
}

class StrayLook {
 public:
  /// `cpusets`: one of `mounts`.
  StrayLook(os::Fs& root, const std::vector<ControllerMount>& mounts, const ControllerMount& cpusets,
            const std::vector<Home>& homes, Threads threads)
      : root_(root), mounts_(mounts), cpusets_(cpusets), homes_(homes), threads_(threads) {
    for (std::size_t i = 0; i < homes.size(); ++i) {
      by_path_.emplace(homes[i].path, i);
      if (homes[i].main_pid > 0) by_main_.emplace(homes[i].main_pid, i);
    }
  }

  Result<std::vector<Stray>> Run() {
    BERTH_TRY(const std::vector<std::string> entries, root_.List("proc"));
    for (const std::string& entry : entries)
      if (const auto pid = ParseDecimal<int>(entry))
        if (auto process = ReadProcess(root_, "proc/" + entry)) processes_.emplace(*pid, *std::move(process));
    std::vector<Stray> out;
    for (const auto& [pid, process] : processes_) LookAt(pid, process, out);
    return out;
  }

 private:
  std::optional<std::size_t> HomeByDescent(int pid, const Process& process) const {
    if (const auto leader = by_main_.find(process.session); leader != by_main_.end()) return leader->second;
    for (int steps = 0; pid > 1 && steps < kMostAncestors; ++steps) {
      if (const auto main = by_main_.find(pid); main != by_main_.end()) return main->second;
      const auto above = processes_.find(pid);
      if (above == processes_.end()) break;
      pid = above->second.parent;
    }
    return std::nullopt;
  }

  /// Where a process or thread is.
  struct Place {
    std::string cpuset;                // as the kernel calls it; "": nowhere
    std::string within;                // the same below the mount point; "": outside of it
    std::optional<std::size_t> group;  // the container in one of whose groups it is
  };
  std::optional<Place> PlaceOf(const std::string& dir) const {
    const auto text = root_.Read(dir + "/cgroup");
    if (!text) return std::nullopt;
    Place out;
    for (const std::string_view line : Split(*text, '\n')) {
      const auto group = ParseMembership(line);
      if (!group) continue;
      const auto mount =
          std::ranges::find_if(mounts_, [&](const ControllerMount& other) { return IsOf(*group, other); });
      const std::string_view within =
          mount == mounts_.end() ? group->path : WithinMount(*mount, group->path).value_or("");
      if (IsOf(*group, cpusets_)) {
        out.cpuset = group->path;
        out.within = within;
      }
      if (!out.group) out.group = HomeByGroup(within);
    }
    return out;
  }
  bool IsAway(const Place& place, std::size_t home) const {
    return !place.cpuset.empty() && !os::IsAtOrBelow(place.within, homes_[home].path);
  }
  bool Goes(const std::string& dir) const {
    const auto now = ReadProcess(root_, dir);
    return !now || now->exiting;
  }

  void LookAt(int pid, const Process& process, std::vector<Stray>& out) const {
    if (process.exiting) return;
    const std::string dir = "proc/" + std::to_string(pid);
    auto place = PlaceOf(dir);
    if (!place) return;
    const std::optional<std::size_t> descent = HomeByDescent(pid, process);
    const std::optional<std::size_t> home = descent ? descent : place->group;
    if (!home) return;
    if (!IsAway(*place, *home)) {
      if (threads_ == Threads::kYes && !cpusets_.v2)
        LookAtThreads(dir, {.pid = pid, .name = process.name, .home = *home, .cpuset = {}}, out);
    } else if (!Goes(dir)) {
      out.push_back({.pid = pid, .name = process.name, .home = *home, .cpuset = std::move(place->cpuset)});
    }
  }

  /// Each is put into a cpuset by its `tasks` file. `stray`: what is the same for all of them.
  void LookAtThreads(const std::string& process, Stray stray, std::vector<Stray>& out) const {
    const auto threads = root_.List(process + "/task");
    if (!threads) return;
    for (const std::string& thread : *threads) {
      stray.thread = ParseDecimal<int>(thread).value_or(stray.pid);
      if (stray.thread == stray.pid) continue;
      const std::string dir = process + "/task/" + thread;
      auto place = PlaceOf(dir);
      if (!place || !IsAway(*place, stray.home) || Goes(dir)) continue;
      stray.cpuset = std::move(place->cpuset);
      out.push_back(stray);
    }
  }

  std::optional<std::size_t> HomeByGroup(std::string_view path) const {
    for (; !path.empty(); path = path.substr(0, path.rfind('/')))
      if (const auto home = by_path_.find(path); home != by_path_.end()) return home->second;
    return std::nullopt;
  }

  os::Fs& root_;
  const std::vector<ControllerMount>& mounts_;
  const ControllerMount& cpusets_;
  const std::vector<Home>& homes_;
  Threads threads_;
  std::map<std::string_view, std::size_t> by_path_;
  std::map<int, std::size_t> by_main_;
  std::map<int, Process> processes_;
};

}  // namespace

std::string NameOf(const Stray& stray) {
  const std::string process = "process " + std::to_string(stray.pid) + " (" + Printable(stray.name) + ")";
  return stray.thread == 0 ? process : "thread " + std::to_string(stray.thread) + " of " + process;
}

std::string StrayText(const Stray& stray, std::string_view of) {
  return NameOf(stray) + " of " + std::string(of) + " is in the cpuset " + Printable(stray.cpuset);
}

Result<std::vector<Stray>> FindStrays(os::Fs& root, const Layout& layout, const std::vector<Home>& homes,
                                      Threads threads) {
  const auto cpusets = std::ranges::find(layout.controllers, "cpuset", &ControllerMount::controller);
  if (homes.empty() || cpusets == layout.controllers.end()) return std::vector<Stray>();
  if (cpusets->root.contains("/.."))
    return Fail(Code::kUnsupported, "tell where processes are: " + cpusets->mount +
                                        " shows cgroups outside of this process's cgroup namespace; start it in the "
                                        "namespace of the host, or mount the cgroup file system anew in this one");
  return StrayLook(root, layout.controllers, *cpusets, homes, threads).Run();
}

}  // namespace berth::cgroup
