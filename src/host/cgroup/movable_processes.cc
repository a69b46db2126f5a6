#include "host/cgroup/movable_processes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "base/id_set.h"
#include "base/text.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/membership.h"
#include "host/os/path.h"
#include "host/os/pidfd.h"

namespace berth::cgroup {
namespace {

constexpr std::uint64_t kOfKernel = 0x00200000;  // PF_KTHREAD
constexpr std::string_view kTakenAllTheSame = "; --even-placed takes it all the same";

/// Groups of container runtimes, by the beginning of their name.
constexpr std::array<std::string_view, 5> kContainerGroups = {"docker-", "libpod-", "crio-", "cri-containerd-",
                                                              "lxc.payload"};

std::string FolderOfProcess(int pid) { return "proc/" + std::to_string(pid); }

std::string ProgramIn(std::string_view stat) {
  const std::size_t begin = stat.find('(') + 1;
  const std::size_t end = stat.rfind(')');
  return end == std::string_view::npos || end < begin ? "" : Printable(stat.substr(begin, end - begin));
}

bool IsOfContainer(std::string_view group) {
  return group == "docker" ||
         std::ranges::any_of(kContainerGroups, [&](std::string_view begin) { return group.starts_with(begin); });
}

/// Has a pid in a namespace below the one of /proc.
bool HasOwnPids(std::string_view status) {
  constexpr std::string_view kLabel = "\nNSpid:";
  const std::size_t at = status.find(kLabel);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = status.substr(at + kLabel.size());
  return SplitWords(rest.substr(0, rest.find('\n'))).size() > 1;
}

/// What keeps processes from being moved.
class FamilyLook {
 public:
  FamilyLook(os::Fs& root, const FamilyMove& move) : root_(root), move_(move) {
    const auto layout = DiscoverLayout(root);
    if (!layout) return;
    const auto cpusets = std::ranges::find(layout->controllers, "cpuset", &ControllerMount::controller);
    if (cpusets != layout->controllers.end()) cpusets_ = *cpusets;
  }

  /// nullopt: nothing does, or it is gone.
  std::optional<std::string> WhyNot(int pid) const {
    if (pid == 1) return "is the first process, which the whole system descends from; name the ones that are meant";
    const auto stat = root_.Read(FolderOfProcess(pid) + "/stat");
    if (!stat) return std::nullopt;
    if ((os::StatField(*stat, 9).value_or(0) & kOfKernel) != 0) return "is a thread of the kernel";
    const std::string program = ProgramIn(*stat);
    if (pid == move_.berthd || program == "berthd" || program == "berth-shim")
      return "is a berthd or a supervisor of its containers, which stay where they are";
    if (pid == move_.self) return "is the one that asks; name a process that it does not descend from";
    return WhyPlaced(pid);
  }

 private:
  std::optional<std::string> WhyPlaced(int pid) const {
    if (move_.takes_from == TakesFrom::kAnywhere) return std::nullopt;
    const auto lines = root_.Read(FolderOfProcess(pid) + "/cgroup");
    if (!lines) return std::nullopt;
    bool contained = false;
    for (const std::string_view line : Split(*lines, '\n')) {
      const auto group = ParseMembership(line);
      if (!group) continue;
      for (const std::string_view part : Split(group->path, '/')) {
        if (part.contains("kubepods"))
          return "is of a pod (cgroup " + Printable(group->path) + "); change that pod, or delete it";
        contained = contained || IsOfContainer(part);
      }
    }
    if (move_.takes_from == TakesFrom::kContainers) return std::nullopt;
    if (contained || HasOwnPids(root_.Read(FolderOfProcess(pid) + "/status").value_or("")))
      return "is in a container" + std::string(kTakenAllTheSame);
    return WhyInCpuset(*lines);
  }

  std::optional<std::string> WhyInCpuset(std::string_view lines) const {
    if (!cpusets_) return std::nullopt;
    const auto all = CpusOf(cpusets_->mount);
    for (const std::string_view line : Split(lines, '\n')) {
      const auto group = ParseMembership(line);
      if (!group || !IsOf(*group, *cpusets_)) continue;
      const auto within = WithinMount(*cpusets_, group->path);
      if (!within || *within == "/") return std::nullopt;
      const auto cpus = CpusOf(cpusets_->mount + std::string(*within));
      if (!all || !cpus || *cpus == *all) return std::nullopt;
      return "is in the cpuset " + Printable(group->path) + " (CPUs " + FormatIds(*cpus) + ") of somebody else" +
             std::string(kTakenAllTheSame);
    }
    return std::nullopt;
  }

  /// CPUs of a group, or of the nearest above it that says.
  std::optional<CpuSet> CpusOf(std::string dir) const {
    const std::string file = cpusets_->v2 ? "/cpuset.cpus.effective" : "/cpuset.cpus";
    for (;; dir = os::FolderOf(dir)) {
      const auto cpus = CpuSet::Parse(root_.Read(dir + file).value_or(""));
      if (cpus && !cpus->empty()) return *cpus;
      if (dir.size() <= cpusets_->mount.size()) return std::nullopt;
    }
  }

  os::Fs& root_;
  const FamilyMove& move_;
  std::optional<ControllerMount> cpusets_;
};

}  // namespace

std::map<int, int> ParentsOfAll(os::Fs& root) {
  constexpr std::size_t kParent = 4;
  std::map<int, int> out;
  for (const std::string& name : root.List("proc").value_or(std::vector<std::string>())) {
    const auto pid = ParseDecimal<int>(name);
    if (!pid) continue;
    const auto stat = root.Read(FolderOfProcess(*pid) + "/stat");
    if (const auto parent = stat ? os::StatField(*stat, kParent) : std::nullopt) out[*pid] = static_cast<int>(*parent);
  }
  return out;
}

std::vector<int> FamilyOf(os::Fs& root, int pid) {
  const std::map<int, int> parents = ParentsOfAll(root);
  std::vector<int> out = {pid};
  std::set<int> known = {pid};  // /proc is no snapshot: parents may seem to go round
  for (std::size_t i = 0; i < out.size(); ++i)
    for (const auto& [child, parent] : parents)
      if (parent == out[i] && known.insert(child).second) out.push_back(child);
  return out;
}

Result<MovableFamily> FindMovable(os::Fs& root, const FamilyMove& move) {
  const auto name_of = [&](int pid) {
    const auto stat = root.Read(FolderOfProcess(pid) + "/stat");
    return "process " + std::to_string(pid) + (stat ? " (" + ProgramIn(*stat) + ")" : "");
  };
  const auto stat = root.Read(FolderOfProcess(move.pid) + "/stat");
  if (!stat) return Fail(Code::kNotFound, "there is no process " + std::to_string(move.pid));
  MovableFamily out{.name = ProgramIn(*stat), .pids = FamilyOf(root, move.pid)};
  const FamilyLook look(root, move);
  for (const int pid : out.pids) {
    const auto why = look.WhyNot(pid);
    if (!why) continue;
    return Fail(Code::kConflict, name_of(pid) +
                                     (pid == move.pid ? " " : ", which descends from " + name_of(move.pid) + ", ") +
                                     *why + "; nothing was moved");
  }
  return out;
}

}  // namespace berth::cgroup
