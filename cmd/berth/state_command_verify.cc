// berth state verify: every promise, on files and on a running node. Knows nothing of how decisions are made.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "api/codec/codec.h"
#include "base/text.h"
#include "berth/state_command.h"
#include "host/cgroup/escaped_processes.h"
#include "host/cgroup/observe.h"
#include "host/os/clock.h"
#include "host/os/fs.h"
#include "model/machine.h"
#include "model/promises.h"
#include "node/checkpoint/verify.h"
#include "view/style.h"

namespace berth::cli {
namespace {

using codec::Json;

std::string Size(const Ledger& ledger) {
  return "revision " + std::to_string(ledger.revision) + ", " + std::to_string(ledger.pods.size()) +
         (ledger.pods.size() == 1 ? " pod" : " pods");
}

Checked CheckFile(const std::string& file) {
  const auto ledger = ReadStateFile(file);
  if (ledger) return {file, Size(*ledger) + ": sound", Contradictions(*ledger)};
  const char* kind = ledger.error().code == Code::kCorrupt       ? "damaged: "
                     : ledger.error().code == Code::kUnsupported ? "of another version: "
                                                                 : "";
  return {file, "", {kind + ledger.error().message}};
}

/// One that cannot be looked at is there: reading it says why.
bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::not_found;
}

/// A folder stands for every copy in it.
std::vector<Checked> CheckPath(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return {CheckFile(path)};
  std::vector<Checked> out;
  for (const char* name : {"ledger", "ledger.prev", "cpu_manager_state", "memory_manager_state",
                           "kubelet_internal_checkpoint", "device-plugins/kubelet_internal_checkpoint"})
    if (Exists(path + "/" + name)) out.push_back(CheckFile(path + "/" + name));
  if (out.empty()) out.push_back({path, "", {"holds no ledger and no state file of a kubelet"}});
  return out;
}

// ---- a running node ----

/// What berthd says, taken together.
struct Node {
  Ledger ledger;
  Machine machine;
  std::set<std::string> pods;                                    ///< uids
  std::map<std::pair<std::string, std::string>, int> main_pids;  ///< by uid and container; of those that run
  std::string cgroup_root;                                       ///< "": cgroups are only played
  cgroup::Driver driver = cgroup::Driver::kCgroupfs;
  bool runtime_makes_groups = false;
};

Result<Node> AskNode(const Session& session) {
  Node out;
  BERTH_TRY(const PodList pods, session.berthd().Pods());
  for (const auto& pod : pods.pods) {
    out.pods.insert(pod->uid);
    for (const auto& container : pod->containers)
      if (container.phase == ContainerPhase::kRunning && container.last && container.last->pid > 0)
        out.main_pids.emplace(std::pair(pod->uid, container.name), container.last->pid);
  }
  BERTH_TRY(out.ledger, session.berthd().GetLedger());
  BERTH_TRY(out.machine, session.berthd().GetMachine());
  BERTH_TRY(const DaemonStatus status, session.berthd().Status());
  if (status.runtime != "dry-run") out.cgroup_root = status.cgroup_root;
  out.runtime_makes_groups = status.runtime != "process";
  if (status.cgroup_driver == cgroup::Name(cgroup::Driver::kSystemd)) out.driver = cgroup::Driver::kSystemd;
  return out;
}

/// The ledger against itself and the machine.
Checked CheckLedger(const Node& node) {
  Checked out{"the ledger of berthd", Size(node.ledger) + ": every promise is kept", Contradictions(node.ledger)};
  const CpuSet known = node.ledger.shared | TakenCpus(node.ledger);
  if (const CpuSet odd = known - node.machine.present; !odd.empty())
    out.broken.push_back("the ledger hands out CPUs that the machine does not have: " + FormatIds(odd));
  for (const auto& [uid, pod] : node.ledger.pods)
    if (!node.pods.contains(uid)) out.broken.push_back("pod " + uid + " has a place although berthd knows no such pod");
  return out;
}

Result<cgroup::Names> NamesOf(const Node& node) {
  return cgroup::Names::Make(node.driver, Join(cgroup::ComponentsOf(node.driver, node.cgroup_root), "/"), true);
}

Result<std::vector<RunningGroup>> LookAtCgroups(const cgroup::Names& names) {
  BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
  BERTH_TRY(cgroup::Layout layout, cgroup::DiscoverLayout(*fs));
  BERTH_TRY(const auto tree, cgroup::Tree::OpenToLook(std::move(fs), std::move(layout), names.root()));
  BERTH_TRY(std::vector<RunningGroup> out, cgroup::ObserveRunning(*tree, names));
  BERTH_RETURN_IF_ERROR(cgroup::AddSurvivors(*tree, out));
  return out;
}

/// Containers whose group is gone though their main process lives: all their processes have left it.
Result<void> AddHomeless(const Node& node, const cgroup::Names& names, std::vector<RunningGroup>& running) {
  if (node.runtime_makes_groups) return {};
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
  for (const auto& [container, pid] : node.main_pids) {
    const auto& [uid, name] = container;
    const auto pod = node.ledger.pods.find(uid);
    const bool found = std::ranges::any_of(running, [&](const RunningGroup& group) {
      return group.uid == container.first && group.name == container.second;
    });
    if (found || pod == node.ledger.pods.end()) continue;
    BERTH_TRY(const bool lives, fs->Exists("proc/" + std::to_string(pid)));
    if (!lives) continue;
    const QosClass qos = pod->second.qos;
    running.push_back({.path = names.Container(names.Pod(qos, uid), name),
                       .uid = uid,
                       .name = name,
                       .qos = qos,
                       .cpus = {},
                       .mems = {}});
  }
  return {};
}

/// Processes that left their container's cpuset, a sentence each.
Result<std::vector<std::string>> LookForStrays(const Node& node, const cgroup::Names& names,
                                               const std::vector<RunningGroup>& running) {
  std::vector<cgroup::Home> homes;
  for (const RunningGroup& group : running) {
    const auto main = node.main_pids.find({group.uid, group.name});
    homes.push_back({.path = names.FromTop(group.path), .main_pid = main == node.main_pids.end() ? 0 : main->second});
  }
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
  BERTH_TRY(const cgroup::Layout layout, cgroup::DiscoverLayout(*fs));
  const auto threads = TakenCpus(node.ledger).empty() ? cgroup::Threads::kNo : cgroup::Threads::kYes;
  BERTH_TRY(const std::vector<cgroup::Stray> strays, cgroup::FindStrays(*fs, layout, homes, threads));
  std::vector<std::string> out;
  for (const cgroup::Stray& stray : strays) out.push_back(cgroup::StrayText(stray, running[stray.home].path));
  return out;
}

Result<Checked> CheckCgroups(const Node& node) {
  BERTH_TRY(const cgroup::Names names, NamesOf(node));
  BERTH_TRY(std::vector<RunningGroup> running, LookAtCgroups(names));
  BERTH_RETURN_IF_ERROR(AddHomeless(node, names, running));
  Checked out{"the cgroups below " + node.cgroup_root, "", {}};
  out.broken = checkpoint::VerifyRunning(node.ledger, node.machine.online, running, node.pods);
  BERTH_TRY(const std::vector<std::string> strays, LookForStrays(node, names, running));
  out.broken.insert(out.broken.end(), strays.begin(), strays.end());
  const auto busy = std::ranges::count_if(running, &RunningGroup::busy);
  out.summary = std::to_string(busy) + (busy == 1 ? " container runs" : " containers run") + " where the ledger says";
  return out;
}

Result<std::vector<Checked>> LookAtNode(const Session& session) {
  BERTH_TRY(const Node node, AskNode(session));
  std::vector<Checked> out = {CheckLedger(node)};
  if (node.cgroup_root.empty()) return out;
  BERTH_TRY(out.emplace_back(), CheckCgroups(node));
  return out;
}

int Print(const std::vector<Checked>& all, const Session& session) {
  const bool sound = std::ranges::all_of(all, [](const Checked& c) { return c.broken.empty(); });
  if (!session.for_people()) {
    Json list = Json::array();
    for (const Checked& checked : all) list.push_back({{"what", checked.what}, {"broken", checked.broken}});
    const int printed = session.PrintData({{"sound", sound}, {"checked", std::move(list)}});
    return printed != kOk ? printed : sound ? kOk : kFailed;
  }
  for (const Checked& checked : all) {
    if (checked.broken.empty()) session.out() << checked.what << ": " << checked.summary << '\n';
    for (const std::string& problem : checked.broken)
      session.out() << view::Paint(checked.what + ": " + problem, view::Style::kWarn, session.color()) << '\n';
  }
  return sound ? kOk : kFailed;
}

}  // namespace

/// A node changes while it is looked at: what is broken must be so at a second look.
Result<std::vector<Checked>> CheckNode(const Session& session) {
  constexpr os::Millis kApart{300};
  BERTH_TRY(std::vector<Checked> first, LookAtNode(session));
  if (std::ranges::all_of(first, [](const Checked& c) { return c.broken.empty(); })) return first;
  os::SleepFor(kApart);
  BERTH_TRY(const std::vector<Checked> second, LookAtNode(session));
  for (Checked& checked : first) {
    const auto again = std::ranges::find(second, checked.what, &Checked::what);
    std::erase_if(checked.broken, [&](const std::string& problem) {
      return again == second.end() || std::ranges::find(again->broken, problem) == again->broken.end();
    });
  }
  return first;
}

int RunStateVerify(const StateOptions& options, const Session& session) {
  std::vector<std::string> paths = options.files;
  if (!options.state_dir.empty()) paths.push_back(options.state_dir);
  std::vector<Checked> all;
  for (const std::string& path : paths)
    for (Checked& checked : CheckPath(path)) all.push_back(std::move(checked));
  if (paths.empty()) {
    auto node = CheckNode(session);
    if (!node) return session.Report(node.error());
    all = *std::move(node);
  }
  return Print(all, session);
}

}  // namespace berth::cli
