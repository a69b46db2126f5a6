#include "daemon/machine_fingerprint.h"

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <utility>

namespace berth::daemon {
namespace {

std::string Describe(const Machine& machine) {
  std::string out;
  const auto add = [&out]<typename... Values>(fmt::format_string<Values...> text, Values&&... values) {
    out += fmt::format(text, std::forward<Values>(values)...);
  };
  add("online {} memory {}\n", FormatIds(machine.online), machine.memory.v);
  for (const NumaNode& node : machine.nodes) {
    add("node {} memory {}", Raw(node.id), node.memory.v);
    for (const HugePages& pages : node.hugepages) add(" huge {}x{}", pages.page_size.v, pages.count);
    for (const unsigned distance : node.distances) add(" d{}", distance);
    for (const Core& core : node.cores) {
      add("\ncore {} socket {} die {} threads", core.core_id, Raw(core.socket), Raw(core.die));
      for (const CpuId cpu : core.threads) add(" {}", Raw(cpu));
      for (const UncoreCache& cache : core.uncore) add(" cache {}", Raw(cache.id));
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
