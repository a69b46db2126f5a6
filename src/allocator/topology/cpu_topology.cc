#include "allocator/topology/cpu_topology.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace berth::allocator {
namespace {

/// Where one CPU sits, by raw ids.
using CpuPlace = std::array<std::uint32_t, kLevels>;

/// The first uncore cache decides; without one the socket id stands in, which may collide with a real cache's id. Both
/// as in the kubelet (rules/topology#cpu-units).
std::uint32_t UncoreId(const Core& core) {
  return core.uncore.empty() ? Raw(core.socket) : Raw(core.uncore.front().id);
}

Result<void> CheckCore(const Core& core, NumaId node) {
  const std::string where = "core " + std::to_string(core.core_id) + " of NUMA node " + std::to_string(Raw(node));
  if (core.threads.empty()) return Fail(Code::kInvalid, "machine: " + where + ": no cpus provided");
  const std::set<CpuId> unique(core.threads.begin(), core.threads.end());
  if (unique.size() != core.threads.size())
    return Fail(Code::kInvalid, "machine: " + where + ": cpus provided are not unique");
  if (Raw(*unique.rbegin()) > kMaxId)
    return Fail(Code::kInvalid, "machine: " + where + ": CPU " + std::to_string(Raw(*unique.rbegin())) +
                                    " is above the largest supported id " + std::to_string(kMaxId));
  return {};
}

}  // namespace

Result<CpuTopology> CpuTopology::Make(const Machine& machine) {
  CpuTopology out;
  if (machine.reported_cpus <= 0)
    return Fail(Code::kInvalid, "machine: could not detect number of cpus: no online CPU was found");
  out.num_cpus_ = machine.reported_cpus;
  out.num_sockets_ = machine.reported_sockets;

  std::map<CpuId, CpuPlace> places;  // a CPU listed twice keeps its last place
  for (const NumaNode& node : machine.nodes) {
    for (const Core& core : node.cores) {
      BERTH_RETURN_IF_ERROR(CheckCore(core, node.id));
      ++out.num_cores_;
      const std::uint32_t core_id = Raw(*std::min_element(core.threads.begin(), core.threads.end()));
      for (CpuId cpu : core.threads) places[cpu] = {Raw(node.id), Raw(core.socket), UncoreId(core), core_id};
    }
  }
  if (places.empty())
    return Fail(Code::kInvalid, "machine: could not detect number of cpus: no core has an online CPU");

  for (std::size_t level = 0; level < kLevels; ++level) {
    std::map<std::uint32_t, CpuSet> by_id;
    for (const auto& [cpu, place] : places) by_id[place[level]].Insert(cpu);
    out.index_[level].assign(Raw(places.rbegin()->first) + 1, 0);
    for (auto& [id, cpus] : by_id) {
      for (CpuId cpu : cpus) out.index_[level][Raw(cpu)] = static_cast<std::uint32_t>(out.units_[level].size());
      const int count = cpus.Count();
      out.smallest_[level] = out.units_[level].empty() ? count : std::min(out.smallest_[level], count);
      out.units_[level].push_back({id, std::move(cpus)});
    }
  }
  for (const Unit& node : out.units(Level::kNuma)) out.cpus_ |= node.cpus;
  return out;
}

CpuSet CpuTopology::Whole(const CpuSet& cpus, Level level) const {
  CpuSet out;
  for (const Unit& unit : units(level))
    if (unit.cpus.Intersects(cpus) && unit.cpus.IsSubsetOf(cpus)) out |= unit.cpus;
  return out;
}

CpuSet CpuTopology::Around(const CpuSet& cpus, Level level) const {
  CpuSet out;
  for (const Unit& unit : units(level))
    if (unit.cpus.Intersects(cpus)) out |= unit.cpus;
  return out;
}

}  // namespace berth::allocator
