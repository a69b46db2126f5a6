#include "simulator/cluster/kind.h"

#include <string>
#include <utility>

#include "allocator/node/node_tables.h"
#include "model/resources.h"
#include "simulator/cluster/hash.h"

namespace berth::cluster {
namespace {

/// Of what differs most often; equality is looked at afterwards.
std::size_t HashOf(const NodeDescription& description) {
  Hash out;
  out.Add(description.machine.online);
  out.Add(description.machine.nodes.size());
  out.Add(static_cast<std::uint64_t>(description.machine.memory.v));
  out.Add(description.config.cpu_manager_policy);
  out.Add(description.config.memory_manager_policy);
  out.Add(description.config.topology_manager_policy);
  out.Add(description.config.reserved_system_cpus);
  for (const auto& [resource, devices] : description.devices) {
    out.Add(resource);
    for (const Device& device : devices) out.Add(device.id);
  }
  return out.value();
}

bool SameNode(const allocator::Node& node, const NodeDescription& description) {
  return node.options() == description.options && node.machine() == description.machine &&
         node.config() == description.config;
}

std::vector<Zone> ZonesOf(const allocator::Node& node) {
  const allocator::NodeTables& tables = node.tables();
  const Ledger empty = node.EmptyLedger();
  std::vector<Zone> out;
  for (std::size_t i = 0; i < tables.nodes.size(); ++i) {
    Zone& zone = out.emplace_back();
    zone.id = tables.nodes.id(i);
    zone.cpus = tables.node_cpus[i] & ((empty.shared | node.apart_cpus()) - node.reserved_cpus());
    if (const auto books = empty.memory.find(zone.id); books != empty.memory.end())
      if (const auto table = books->second.types.find("memory"); table != books->second.types.end())
        zone.memory = table->second.allocatable.v;
  }
  return out;
}

Result<Kind> MakeKind(NodeDescription description, const allocator::Node* known) {
  Kind out;
  if (known != nullptr) {
    out.node = *known;
  } else {
    BERTH_TRY(out.node, allocator::Node::Make(std::move(description.machine), std::move(description.config),
                                              description.options));
  }
  BERTH_RETURN_IF_ERROR(allocator::CheckDevices(out.node, description.devices));
  // The books of many nodes say what is in the shared pool, not what named ones hold.
  if (!out.node.options().own.pools.empty())
    return Fail(Code::kUnsupported, "cpuPools are not counted with by what decides for many nodes");
  out.inputs.devices = std::move(description.devices);
  out.zones = ZonesOf(out.node);
  if (const auto pods = out.node.allocatable().find("pods"); pods != out.node.allocatable().end())
    out.pods = pods->second.Value();
  for (const Zone& zone : out.zones) out.exclusive_cpus += zone.cpus.Count();
  out.cpu_milli = AmountOf(out.node.allocatable(), "cpu").MilliValue();
  out.memory = AmountOf(out.node.allocatable(), "memory").Value();
  out.whole_cores = out.node.tables().settings.cpu.full_pcpus_only;
  return out;
}

}  // namespace

Result<KindRef> Kinds::Find(NodeDescription description) {
  description.machine.source.clear();
  description.machine.boot_id.clear();
  description.machine.this_host = false;
  const std::size_t hash = HashOf(description);
  std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
  const auto [begin, end] = known_.equal_range(hash);
  KindRef same_node;
  for (auto entry = begin; entry != end; ++entry) {
    KindRef kind = entry->second.lock();
    if (kind == nullptr || !SameNode(kind->node, description)) continue;
    if (kind->inputs.devices == description.devices) return kind;
    same_node = std::move(kind);
  }
  BERTH_TRY(Kind made, MakeKind(std::move(description), same_node == nullptr ? nullptr : &same_node->node));
  made.id = next_id_++;
  auto out = std::make_shared<const Kind>(std::move(made));
  known_.emplace(hash, out);
  return out;
}

std::size_t Kinds::Count() const {
  std::size_t out = 0;
  for (const auto& [hash, kind] : known_) out += kind.expired() ? 0U : 1U;
  return out;
}

}  // namespace berth::cluster
