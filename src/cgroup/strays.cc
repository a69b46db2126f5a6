#include "cgroup/strays.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cgroup/membership.h"
#include "os/path.h"
#include "os/pidfd.h"

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
std::optional<Process> ReadProcess(os::Fs& root, const std::string& pid) {
  const auto stat = root.Read("proc/" + pid + "/stat");
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
  StrayLook(os::Fs& root, const std::vector<Home>& homes) : root_(root), homes_(homes) {
    for (std::size_t i = 0; i < homes.size(); ++i) {
      by_path_.emplace(homes[i].path, i);
      if (homes[i].main_pid > 0) by_main_.emplace(homes[i].main_pid, i);
    }
  }

  Result<std::vector<Stray>> Run() {
    BERTH_TRY(const std::vector<std::string> entries, root_.List("proc"));
    for (const std::string& entry : entries)
      if (const auto pid = ParseDecimal<int>(entry))
        if (auto process = ReadProcess(root_, entry)) processes_.emplace(*pid, *std::move(process));
    std::vector<Stray> out;
    for (const auto& [pid, process] : processes_)
      if (auto stray = LookAt(pid, process)) out.push_back(*std::move(stray));
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

  std::optional<Stray> LookAt(int pid, const Process& process) const {
    if (process.exiting) return std::nullopt;
    const std::string name = std::to_string(pid);
    const auto text = root_.Read("proc/" + name + "/cgroup");
    if (!text) return std::nullopt;
    std::optional<std::string_view> cpuset;
    std::optional<std::string_view> unified;
    std::optional<std::size_t> home = HomeByDescent(pid, process);
    for (const std::string_view line : Split(*text, '\n')) {
      const auto group = ParseMembership(line);
      if (!group) continue;
      if (group->Has("cpuset")) cpuset = group->path;
      if (group->v2()) unified = group->path;
      if (!home) home = HomeByGroup(group->path);
    }
    const std::string_view where = cpuset.value_or(unified.value_or(""));
    if (!home || where.empty() || os::IsAtOrBelow(where, homes_[*home].path)) return std::nullopt;
    if (const auto now = ReadProcess(root_, name); !now || now->exiting) return std::nullopt;  // meanwhile
    return Stray{.pid = pid, .name = process.name, .home = *home, .cpuset = std::string(where)};
  }

  std::optional<std::size_t> HomeByGroup(std::string_view path) const {
    for (; !path.empty(); path = path.substr(0, path.rfind('/')))
      if (const auto home = by_path_.find(path); home != by_path_.end()) return home->second;
    return std::nullopt;
  }

  os::Fs& root_;
  const std::vector<Home>& homes_;
  std::map<std::string_view, std::size_t> by_path_;
  std::map<int, std::size_t> by_main_;
  std::map<int, Process> processes_;
};

}  // namespace

std::string StrayText(const Stray& stray, std::string_view of) {
  return "process " + std::to_string(stray.pid) + " (" + Printable(stray.name) + ") of " + std::string(of) +
         " is in the cpuset " + Printable(stray.cpuset);
}

Result<std::vector<Stray>> FindStrays(os::Fs& root, const std::vector<Home>& homes) {
  if (homes.empty()) return std::vector<Stray>();
  return StrayLook(root, homes).Run();
}

}  // namespace berth::cgroup
