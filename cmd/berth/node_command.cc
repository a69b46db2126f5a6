#include "berth/node_command.h"

#include "api/codec/views.h"
#include "base/text.h"
#include "berth/age.h"
#include "host/os/clock.h"
#include "model/kubelet_version.h"
#include "view/table.h"

namespace berth::cli {
namespace {

/// ", 3 lost" when there are some.
std::string HistoryLoss(const HistoryStatus& history) {
  return history.lost > 0 ? ", " + std::to_string(history.lost) + " lost since the start" : "";
}

}  // namespace

void PrintPolicies(const NodeView& node, const Session& session) {
  session.out() << "Decides as:      kubelet " << Name(node.kubelet_version) << "\nCPU policy:      " << node.cpu_policy
                << "\nMemory policy:   " << node.memory_policy << "\nTopology policy: " << node.topology_policy
                << ", scope " << node.topology_scope << "\nCPUs:            " << FormatIds(node.all_cpus)
                << "\nReserved CPUs:   " << (node.reserved_cpus.empty() ? "none" : FormatIds(node.reserved_cpus))
                << "\n";
}

int RunNode(const Session& session) {
  const auto node = session.berthd().Node();
  if (!node) return session.Report(node.error());
  if (!session.for_people()) return session.PrintData(codec::ToJson(*node));
  PrintPolicies(*node, session);
  view::Table table({{"RESOURCE"}, {"CAPACITY", view::Align::kRight}, {"ALLOCATABLE", view::Align::kRight}});
  for (const auto& [name, amount] : node->capacity) {
    const auto allocatable = node->allocatable.find(name);
    table.AddRow(
        {name, amount.ToString(), allocatable != node->allocatable.end() ? allocatable->second.ToString() : ""});
  }
  session.out() << '\n' << table.Format(session.table());
  const auto capacity = node->capacity.find("memory");
  const auto allocatable = node->allocatable.find("memory");
  if (capacity != node->capacity.end() && allocatable != node->allocatable.end() &&
      capacity->second != allocatable->second)
    session.out() << "\nCapacity of memory is the kernel's MemTotal; allocatable is what is left of it by\n"
                     "systemReserved, kubeReserved and evictionHard.\n";
  return kOk;
}

/// "3 ms (sync)".
std::string AbsenceText(const LoopAbsence& absence) {
  return std::to_string(absence.ms) + " ms" + (absence.what.empty() ? "" : " (" + absence.what + ")");
}

void PrintStatus(const DaemonStatus& status, const Session& session) {
  const std::string age = FormatAge(status.started_at, os::SystemClock().Wall());
  std::ostream& out = session.out();
  out << "berthd:        " << status.version << ", pid " << status.pid << ", up " << (age.empty() ? "?" : age)
      << " (since " << (status.started_at ? FormatTime(*status.started_at) : "") << ")\n"
      << "Node:          " << status.node_name << ", " << status.machine_source << '\n'
      << "Runtime:       " << status.runtime
      << (status.runtime_endpoint.empty() ? "" : " at " + status.runtime_endpoint) << ", cgroups "
      << status.cgroup_version << '\n'
      << "Pods:          " << status.pods << '\n'
      << "Ledger:        revision " << status.ledger_revision << '\n'
      << "Cgroup writes: " << status.cgroup_writes << " since the start\n";
  out << "Loop:          away at most " << AbsenceText(status.loop.longest_lately) << " in the last minute, "
      << AbsenceText(status.loop.longest) << " since the start\n";
  if (status.history)
    out << "History:       " << status.history->kept << " events" << HistoryLoss(*status.history) << '\n';
  for (const std::string& warning : status.warnings)
    out << view::Paint("Warning:       " + warning, view::Style::kWarn, session.color()) << '\n';
}

int RunProbe(const std::string& probe, const Session& session) {
  const auto health = session.berthd().GetHealth();
  if (!health) return session.Report(health.error());
  if (probe == "startup" && !health->started)
    return session.Report({.code = Code::kBusy, .message = "berthd has not taken over yet what was there before it"});
  if (probe != "readiness" || health->not_ready.empty()) return kOk;
  return session.Report({.code = Code::kBusy, .message = "not ready: " + Join(health->not_ready, "; ")});
}

int RunStatus(const Session& session) {
  const auto status = session.berthd().Status();
  if (!status) return session.Report(status.error());
  if (!session.for_people()) return session.PrintData(codec::ToJson(*status));
  PrintStatus(*status, session);
  return kOk;
}

}  // namespace berth::cli
