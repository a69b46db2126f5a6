#include "node/recovery/complete_record.h"

#include <fmt/core.h>

#include <utility>

#include "model/resources.h"

namespace berth::recovery {
namespace {

/// One block for each type of memory the container asks for, on the nodes it runs on.
std::vector<MemoryBlock> BlocksOn(const NodeSet& nodes, const Container& container) {
  std::vector<MemoryBlock> out;
  for (const auto& [resource, amount] : container.resources.requests)
    if (IsMemoryType(resource) && amount.Value() > 0)
      out.push_back({.nodes = nodes, .type = resource, .size = Bytes{amount.Value()}});
  return out;
}

bool AsksForCpusOfItsOwn(const Container& container) {
  const auto cpu = container.resources.requests.find("cpu");
  return cpu != container.resources.requests.end() && cpu->second.MilliValue() >= 1000 &&
         cpu->second.MilliValue() % 1000 == 0;
}

}  // namespace

Completion CompleteRecord(const allocator::Node& node, const PodRecord& partial, const Pod& pod,
                          const std::function<NodeSet(const std::string& container)>& mems) {
  Completion out;
  out.record = partial;
  out.record.namespace_ = pod.namespace_;
  out.record.name = pod.name;
  out.record.qos = QosOf(pod);
  out.record.requests = PodRequests(pod);
  out.record.partial = false;
  out.record.placements.clear();
  const bool guaranteed = out.record.qos == QosClass::kGuaranteed;
  const Ledger empty = node.EmptyLedger();
  ForEachContainer(pod, [&](const Container& container, ContainerKind kind) {
    Placement placement{.container = container.name};
    if (const Placement* had = FindPlacement(partial, container.name)) placement = *had;
    placement.kind = kind;
    const NodeSet nodes = mems(container.name);
    const bool pinned = !nodes.empty() && nodes != NodeIds(node.machine());
    if (guaranteed && empty.memory_policy == "Static" && !placement.memory && pinned)
      if (auto blocks = BlocksOn(nodes, container); !blocks.empty()) placement.memory = std::move(blocks);
    if (guaranteed && empty.cpu_policy == "static" && kind == ContainerKind::kApp && !placement.cpus &&
        AsksForCpusOfItsOwn(container))
      out.notes.push_back(
          fmt::format("container {} asks for CPUs of its own but was not found running on any; it shares "
                      "the pool until its pod is started anew",
                      container.name));
    out.record.placements.push_back(std::move(placement));
  });
  return out;
}

}  // namespace berth::recovery
