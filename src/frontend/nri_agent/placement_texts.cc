#include "frontend/nri_agent/placement_texts.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "frontend/nri_agent/translate.h"

namespace berth::nri_agent {
namespace {

constexpr std::size_t kLongestName = 253;  // of Kubernetes
constexpr std::string_view kHostRoot = "/proc/1/root/";

}  // namespace

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7f && c != '/'; });
}

bool IsSane(const nri::Pod& pod) { return IsName(UidOf(pod)) && IsName(pod.name) && IsName(pod.name_space); }
bool IsSane(const nri::Pod& pod, const nri::Container& container) {
  return IsSane(pod) && IsName(container.name) && IsName(container.id);
}

std::string TextOf(const Reject& reject) {
  return reject.details.empty() ? reject.message : reject.message + "; " + Join(reject.details, "; ");
}

std::string WithoutHostRoot(std::string text) {
  for (std::size_t at = text.find(kHostRoot); at != std::string::npos; at = text.find(kHostRoot, at))
    text.erase(at, kHostRoot.size() - 1);
  return text;
}

std::string DescribePlace(const Ledger& ledger, const Placement& placement, const CpuSet& shared) {
  std::string out = "the shared pool " + FormatIds(PartOfPool(placement.node_cpus, shared));
  if (placement.cpus)
    out = "CPUs " + FormatIds(*placement.cpus) + " for itself";
  else if (const CpuPool* const pool = FindPool(ledger, placement); pool != nullptr)
    out = "CPUs " + FormatIds(pool->cpus) + " of " + PoolText(placement.pool);
  if (placement.mixed) out += ", the shared pool " + FormatIds(shared) + " beside";
  if (const NodeSet nodes = MemoryNodes(placement); !nodes.empty()) out += ", memory of nodes " + FormatIds(nodes);
  return out;
}

}  // namespace berth::nri_agent
