#include "frontend/nri_preflight/cpuset_plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "base/text.h"
#include "frontend/nri_agent/annotations.h"
#include "frontend/nri_agent/translate.h"
#include "model/placement.h"
#include "model/resources.h"

namespace berth::nri_preflight {
namespace {

std::string WhyNot(const Reject& reject) {
  std::string out = reject.reason + ": " + (reject.details.empty() ? reject.message : Join(reject.details, "; "));
  return out + "; it stays in the shared pool";
}

bool ReservesCpus(const KubeletConfiguration& config) {
  return !config.reserved_system_cpus.empty() || config.system_reserved.contains("cpu") ||
         config.kube_reserved.contains("cpu");
}

}  // namespace

Plan PlanCpusets(const allocator::Node& node, Ledger ledger, const allocator::Inputs& inputs,
                 const std::vector<SeenContainer>& seen) {
  Plan out;
  out.all = node.all_cpus();
  out.reserved = node.reserved_cpus();
  out.nodes = NodeIds(node.machine());
  std::map<std::string, Pod> pods;
  for (const SeenContainer& one : seen) {
    const std::string uid = nri_agent::UidOf(one.pod);
    Pod& pod = pods.try_emplace(uid, nri_agent::PodOf(one.pod)).first->second;
    pod.containers.push_back(nri_agent::ContainerOf(one.container, QosOf(pod)));
    Change& change = out.changes.emplace_back();
    change.pod = one.pod.name_space + "/" + one.pod.name;
    change.container = one.container.name;
    change.id = one.container.id;
    change.qos = QosOf(pod);
    change.cpus_now = one.cpus;
    change.mems_now = one.mems;
    if (!one.told) change.why = "the runtime does not say what it asks for";
    const Decision decision =
        allocator::DecideContainer(node, ledger, nri_agent::AsWished(pod, one.container.name, node.options().own),
                                   one.container.name, inputs, nullptr);
    if (const auto* const reject = std::get_if<Reject>(&decision))
      change.why = WhyNot(*reject);
    else
      Apply(ledger, std::get<Admit>(decision).delta);
  }
  out.shared = ledger.shared.empty() ? out.all - TakenCpus(ledger) : ledger.shared;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    Change& change = out.changes[i];
    change.cpus_then = out.shared;
    change.mems_then = out.nodes;
    const auto record = ledger.pods.find(nri_agent::UidOf(seen[i].pod));
    const Placement* const placement =
        record == ledger.pods.end() ? nullptr : FindPlacement(record->second, change.container);
    if (placement == nullptr) continue;
    change.own = placement->cpus && !placement->cpus->empty();
    change.cpus_then = CpusOf(ledger, *placement, out.shared);
    if (NodeSet nodes = MemoryNodes(*placement); !nodes.empty()) change.mems_then = std::move(nodes);
  }
  std::ranges::sort(out.changes, {}, [](const Change& c) { return std::tie(c.pod, c.container, c.id); });
  return out;
}

KubeletConfiguration UsualPlacement(const KubeletConfiguration* kubelet, const Machine& machine) {
  KubeletConfiguration out;
  out.cpu_manager_policy = "static";
  out.topology_manager_policy = "best-effort";
  if (kubelet != nullptr && ReservesCpus(*kubelet)) {
    out.reserved_system_cpus = kubelet->reserved_system_cpus;
    out.system_reserved = kubelet->system_reserved;
    out.kube_reserved = kubelet->kube_reserved;
  } else if (const CpuSet online = machine.online; !online.empty()) {
    out.reserved_system_cpus = FormatIds(CpuSet{*online.begin()});
  }
  return out;
}

}  // namespace berth::nri_preflight
