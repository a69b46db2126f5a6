#include "daemon/fingerprint.h"

#include <fmt/core.h>

#include <cstdint>
#include <iterator>

namespace berth::daemon {
namespace {

std::string Describe(const Machine& machine) {
  std::string out;
  auto to = std::back_inserter(out);
  fmt::format_to(to, "online {} memory {}\n", FormatIds(machine.online), machine.memory.v);
  for (const NumaNode& node : machine.nodes) {
    fmt::format_to(to, "node {} memory {}", Raw(node.id), node.memory.v);
    for (const HugePages& pages : node.hugepages) fmt::format_to(to, " huge {}x{}", pages.page_size.v, pages.count);
    for (const unsigned distance : node.distances) fmt::format_to(to, " d{}", distance);
    for (const Core& core : node.cores) {
      fmt::format_to(to, "\ncore {} socket {} die {} threads", core.core_id, Raw(core.socket), Raw(core.die));
      for (const CpuId cpu : core.threads) fmt::format_to(to, " {}", Raw(cpu));
      for (const UncoreCache& cache : core.uncore) fmt::format_to(to, " cache {}", Raw(cache.id));
    }
    out += '\n';
  }
  return out;
}

}  // namespace

std::string MachineFingerprint(const Machine& machine) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a, 64 bit
  for (const char c : Describe(machine)) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3U;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace berth::daemon
