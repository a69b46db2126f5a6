#include "host/machine/describe.h"

#include <fmt/core.h>

#include <map>
#include <vector>

namespace berth::machine {
namespace {

std::string Size(Bytes bytes) {
  if (bytes.v != 0 && bytes.v % (1 << 30) == 0) return fmt::format("{}GiB", bytes.v >> 30);
  if (bytes.v != 0 && bytes.v % (1 << 20) == 0) return fmt::format("{}MiB", bytes.v >> 20);
  if (bytes.v != 0 && bytes.v % (1 << 10) == 0) return fmt::format("{}KiB", bytes.v >> 10);
  return fmt::format("{}B", bytes.v);
}

std::string Pages(const std::vector<HugePages>& list) {
  std::string out;
  for (const HugePages& pages : list) out += fmt::format(" {}*{}", pages.count, Size(pages.page_size));
  return out.empty() ? " none" : out;
}

std::string Set(const CpuSet& cpus) { return cpus.empty() ? "none" : FormatIds(cpus); }

char KindLetter(CoreKind kind) {
  switch (kind) {
    case CoreKind::kPerformance: return 'P';
    case CoreKind::kEfficiency: return 'E';
    case CoreKind::kUniform: return '-';
  }
  return '-';
}

std::string Threads(const Core& core) {
  std::string out;
  for (const CpuId cpu : core.threads) out += (out.empty() ? "" : "+") + std::to_string(Raw(cpu));
  return out;
}

/// Cores that agree in everything but their threads share a line; lines in order of first appearance.
std::string CoreLines(const NumaNode& node) {
  std::vector<std::string> heads;
  std::map<std::string, std::string> lines;
  for (const Core& core : node.cores) {
    std::string head = fmt::format("  socket {} die {}", Raw(core.socket), Raw(core.die));
    if (core.kind != CoreKind::kUniform) head += fmt::format(" kind {}", KindLetter(core.kind));
    for (const UncoreCache& cache : core.uncore)
      head += fmt::format(" uncore {} (L{} {} {})", Raw(cache.id), cache.level, cache.type, Size(cache.size));
    const auto [at, fresh] = lines.try_emplace(head);
    if (fresh) heads.push_back(head);
    at->second += fmt::format(" {}:{}", core.core_id, Threads(core));
  }
  std::string out;
  for (const std::string& head : heads) out += fmt::format("{} cores{}\n", head, lines[head]);
  return out;
}

std::string NodeLines(const NumaNode& node) {
  std::string distances;
  for (const unsigned d : node.distances) distances += fmt::format(" {}", d);
  return fmt::format("node {} memory {} hugepages{} distances{}\n{}", Raw(node.id), Size(node.memory),
                     Pages(node.hugepages), distances.empty() ? " unknown" : distances, CoreLines(node));
}

std::string PciLine(const PciDevice& device) {
  return fmt::format("pci {} class {:06x} id {:04x}:{:04x} node {} cpus {}{}{}\n", device.address, device.class_id,
                     device.vendor, device.device, device.node ? std::to_string(Raw(*device.node)) : "none",
                     Set(device.local_cpus), device.name.empty() ? "" : " name ", device.name);
}

}  // namespace

std::string Describe(const Machine& machine) {
  std::string out =
      fmt::format("cpus {} sockets {} cores {} memory {} hugepages{}\n", machine.reported_cpus,
                  machine.reported_sockets, machine.reported_cores, Size(machine.memory), Pages(machine.hugepages));
  out += fmt::format("present {} online {} isolated {} nohz_full {}\n", Set(machine.present), Set(machine.online),
                     Set(machine.isolated), Set(machine.nohz_full));
  for (const NumaNode& node : machine.nodes) out += NodeLines(node);
  for (const L3Group& group : machine.l3)
    out += fmt::format("l3 {} {} cpus {}\n", Raw(group.id), Size(group.size), Set(group.cpus));
  for (const PciDevice& device : machine.pci) out += PciLine(device);
  return out;
}

}  // namespace berth::machine
