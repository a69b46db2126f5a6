#include "host/cgroup/group_processes.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "host/cgroup/control_files.h"
#include "host/cgroup/group_dirs.h"
#include "host/cgroup/patience.h"
#include "host/os/pidfd.h"

namespace berth::cgroup {

std::string PidList(const std::vector<int>& pids) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pids.size() && i < kShown; ++i)
    out.push_back(std::to_string(pids[i]) + " (state " + os::StateOf(pids[i]) + ")");
  return Join(out, ", ") + (pids.size() > kShown ? ", ..." : "");
}

Result<void> GroupProcesses::Add(const std::string& dir, std::set<int>& out) {
  BERTH_TRY(const auto pids, files_.Parsed(dir + "/cgroup.procs", ParsePids));
  if (pids) out.insert(pids->begin(), pids->end());
  BERTH_TRY(const auto children, GroupsIn(files_.fs(), dir));
  for (const std::string& child : children) BERTH_RETURN_IF_ERROR(Add(dir + "/" + child, out));
  return {};
}

Result<std::vector<int>> GroupProcesses::Of(const std::string& path) {
  std::set<int> out;
  for (const auto& h : hierarchies_) BERTH_RETURN_IF_ERROR(Add(h->Dir(path), out));
  return std::vector<int>(out.begin(), out.end());
}

Result<bool> GroupProcesses::AnyBelow(const std::string& dir) {
  BERTH_TRY(const auto pids, files_.Parsed(dir + "/cgroup.procs", ParsePids));
  if (pids && !pids->empty()) return true;
  BERTH_TRY(const auto children, GroupsIn(files_.fs(), dir));
  for (const std::string& child : children) {
    BERTH_TRY(const bool any, AnyBelow(dir + "/" + child));
    if (any) return true;
  }
  return false;
}

Result<bool> GroupProcesses::AnyIn(const std::string& path) {
  for (const bool cpuset : {true, false})
    for (const auto& h : hierarchies_) {
      if (h->Has("cpuset") != cpuset) continue;
      BERTH_TRY(const bool any, AnyBelow(h->Dir(path)));
      if (any) return true;
    }
  return false;
}

/// "": the cpuset controller is not on a v1 hierarchy.
std::string GroupProcesses::V1CpusetDir(const std::string& path) const {
  for (const auto& h : hierarchies_)
    if (!h->v2() && h->Has("cpuset")) return h->Dir(path);
  return "";
}

Result<std::vector<int>> GroupProcesses::InCpuset(const std::string& path) {
  const std::string dir = V1CpusetDir(path);
  if (dir.empty()) return std::vector<int>();
  BERTH_TRY(auto pids, files_.Parsed(dir + "/cgroup.procs", ParsePids));
  return std::move(pids).value_or(std::vector<int>());
}

Result<int> GroupProcesses::ReturnToCpuset(const std::string& path, const std::vector<int>& pids) {
  const std::string dir = V1CpusetDir(path);
  const auto other = std::ranges::find_if(hierarchies_, [](const auto& h) { return !h->Has("cpuset"); });
  if (dir.empty() || other == hierarchies_.end()) return 0;
  std::set<int> own;
  BERTH_RETURN_IF_ERROR(Add((*other)->Dir(path), own));
  int returned = 0;
  Result<void> first;
  for (const int pid : pids) {
    if (!own.contains(pid)) continue;
    auto moved = files_.Write(dir + "/cgroup.procs", std::to_string(pid));
    if (moved) {
      ++returned;
    } else if (moved.error().sys != ESRCH && moved.error().code != Code::kNotFound && first) {
      first = std::move(moved);
    }
  }
  return first ? Result<int>(returned) : std::unexpected(std::move(first).error());
}

/// cgroup.kill (Linux 5.14) leaves nobody behind, however fast they fork. false: not everything is on such a hierarchy.
Result<bool> GroupProcesses::KillAtOnce(const std::string& path) {
  bool all = true;
  for (const auto& h : hierarchies_) {
    const std::string file = h->Dir(path) + "/cgroup.kill";
    if (!h->v2()) {
      all = false;
      continue;
    }
    if (auto done = files_.Write(file, "1"); !done) {
      if (done.error().code != Code::kNotFound) return std::unexpected(std::move(done).error());
      all = false;
    }
  }
  return all;
}

Result<void> GroupProcesses::Kill(const std::string& path, os::Millis patience) {
  Patience waiting(doors_.wait, patience);
  std::vector<int> told;  // reached by cgroup.kill: they only need time to die
  for (;;) {
    BERTH_TRY(const std::vector<int> pids, Of(path));
    if (pids.empty()) return {};
    if (!std::includes(told.begin(), told.end(), pids.begin(), pids.end())) {
      BERTH_TRY(const bool done, KillAtOnce(path));
      if (!done) BERTH_RETURN_IF_ERROR(doors_.kill(pids, [&] { return Of(path); }));
      if (done) told = pids;
    }
    if (!waiting.Wait()) return Fail(Code::kBusy, "processes of cgroup " + path + " survive SIGKILL: " + PidList(pids));
  }
}

}  // namespace berth::cgroup
