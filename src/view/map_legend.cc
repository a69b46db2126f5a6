#include <algorithm>
#include <string>

#include "base/text.h"
#include "view/map_parts.h"
#include "view/style.h"

namespace berth::view {
namespace {

/// "app 2-3, memory node 0; init 2-3"
std::string Holdings(const PodRecord& pod) {
  std::string out;
  for (const Placement& p : pod.placements) {
    std::string one = p.container;
    if (p.cpus)
      one += " " + FormatIds(*p.cpus) + (p.mixed ? " and shared" : "");
    else
      one += p.pool.empty() ? " (shared)" : " (" + PoolText(p.pool) + ")";
    if (const NodeSet nodes = MemoryNodes(p); !nodes.empty())
      one += ", memory node" + std::string(nodes.Count() == 1 ? " " : "s ") + FormatIds(nodes);
    for (const DeviceAssignment& d : p.devices) one += ", " + d.resource + " " + Join(d.ids, ",");
    out += (out.empty() ? "" : "; ") + one;
  }
  return out;
}

/// "; 4 pods: default/a, default/b": those with a container that `runs_there`.
template <class RunsThere>
std::string PodsText(const Ledger& ledger, const RunsThere& runs_there) {
  std::vector<std::string> names;
  for (const auto& [uid, pod] : ledger.pods)
    if (std::ranges::any_of(pod.placements, runs_there)) names.push_back(FullName(pod));
  std::ranges::sort(names);
  if (names.empty()) return {};
  return "; " + std::to_string(names.size()) + (names.size() == 1 ? " pod: " : " pods: ") + Join(names, ", ");
}

std::string SharedPods(const Ledger& ledger) {
  return PodsText(ledger, [](const Placement& p) { return (!p.cpus && p.pool.empty()) || p.mixed; });
}

/// "2-5; 2 pods: default/a, default/b"
std::string PoolHoldings(const Ledger& ledger, const std::string& name, const CpuPool& pool) {
  return CpusText(pool) + PodsText(ledger, [&](const Placement& p) { return p.pool == name; });
}

}  // namespace

CpuSet WithUse(const std::vector<CpuState>& cpus, CpuUse use) {
  CpuSet out;
  for (const CpuState& state : cpus)
    if (state.use == use) out.Insert(state.cpu);
  return out;
}

std::vector<std::string> LegendLines(const Machine& machine, const Ledger& ledger, const std::vector<CpuState>& cpus,
                                     const Marks& marks, const MapOptions& options) {
  std::vector<std::string> out;
  int name_width = 0;
  for (const Marks::Holder& holder : marks.holders()) name_width = std::max(name_width, DisplayWidth(holder.name));
  const int mark_width = DisplayWidth(marks.Mixed().mark);
  const auto add = [&](const Marks::Look& look, const std::string& text) {
    out.push_back("  " + marks.Paint(look.mark, look) + "  " + CutToWidth(text, options.width - mark_width - 4));
  };
  const auto add_holder = [&](const Marks::Holder& holder, const std::string& what) {
    add(holder.look, PadRight(holder.name, std::min(name_width, 40)) + "  " + what);
  };
  for (const Marks::Holder& holder : marks.holders())
    if (holder.pod != nullptr) add_holder(holder, Holdings(*holder.pod));
  for (const auto& [name, pool] : ledger.pools)
    for (const Marks::Holder& holder : marks.holders())
      if (holder.pod == nullptr && holder.name == PoolText(name)) add_holder(holder, PoolHoldings(ledger, name, pool));
  const auto add_use = [&](CpuUse use, const std::string& text, const std::string& more) {
    if (const CpuSet set = WithUse(cpus, use); !set.empty()) add(marks.OfUse(use), text + " " + FormatIds(set) + more);
  };
  const CpuSet reserved = WithUse(cpus, CpuUse::kReserved);
  const CpuSet pool = ledger.shared.empty() ? WithUse(cpus, CpuUse::kShared) | reserved : ledger.shared;
  if (!pool.empty()) add(marks.OfUse(CpuUse::kShared), "shared pool " + FormatIds(pool) + SharedPods(ledger));
  const bool shared = reserved.IsSubsetOf(pool);
  add_use(CpuUse::kReserved, "reserved for the system", shared ? ", part of the shared pool" : "");
  add_use(CpuUse::kIdle, "outside the pool", "");
  add_use(CpuUse::kOffline, "offline", "");
  if (marks.conflict()) add({PadRight("!", mark_width), "1;31"}, "held by two pods: this must not be");
  if (!machine.isolated.empty())
    out.push_back("  " +
                  CutToWidth("isolated by the kernel (isolcpus): " + FormatIds(machine.isolated), options.width - 2));
  return out;
}

}  // namespace berth::view
