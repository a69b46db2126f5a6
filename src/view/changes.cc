#include "view/changes.h"

#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"

namespace berth::view {
namespace {

/// What a container holds.
struct Holding {
  std::string cpus;
  std::string nodes;
  std::string devices;
};
constexpr std::array kParts = {std::pair("CPUs", &Holding::cpus), std::pair("memory nodes", &Holding::nodes),
                               std::pair("devices", &Holding::devices)};

std::map<std::string, Holding> HoldingsOf(const Ledger& ledger) {
  std::map<std::string, Holding> out;
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& place : pod.placements)
      out[(pod.partial ? uid : FullName(pod)) + "/" + place.container] = {
          .cpus = CpusText(place), .nodes = FormatIds(MemoryNodes(place)), .devices = DevicesText(place.devices)};
  return out;
}

}  // namespace

std::string DevicesText(const std::vector<DeviceAssignment>& devices) {
  std::vector<std::string> parts;
  for (const DeviceAssignment& device : devices) parts.push_back(device.resource + " " + Join(device.ids, ","));
  return Join(parts, "; ");
}

std::vector<Change> ChangesOf(const Ledger& before, const Ledger& after) {
  const std::map<std::string, Holding> was = HoldingsOf(before);
  const std::map<std::string, Holding> is = HoldingsOf(after);
  std::set<std::string> names;
  for (const auto* of : {&was, &is})
    for (const auto& [name, holding] : *of) names.insert(name);
  std::vector<Change> out;
  for (const std::string& name : names)
    for (const auto& [what, part] : kParts) {
      const auto in = [&, member = part](const std::map<std::string, Holding>& all) {
        const auto of = all.find(name);
        return of == all.end() ? std::string() : of->second.*member;
      };
      if (Change change{.who = name, .what = what, .before = in(was), .after = in(is)}; change.before != change.after)
        out.push_back(std::move(change));
    }
  for (const CpuPools* of : {&before.pools, &after.pools})
    for (const auto& [name, pool] : *of) {
      const auto in = [&](const CpuPools& pools) {
        const auto found = pools.find(name);
        return found == pools.end() ? std::string() : FormatIds(HeldCpus(found->second));
      };
      Change change{.who = PoolText(name), .what = "CPUs", .before = in(before.pools), .after = in(after.pools)};
      const bool told = of == &after.pools && before.pools.contains(name);
      if (change.before != change.after && !told) out.push_back(std::move(change));
    }
  if (before.shared != after.shared)
    out.push_back(
        {.who = "shared pool", .what = "CPUs", .before = FormatIds(before.shared), .after = FormatIds(after.shared)});
  return out;
}

std::string ChangesTable(const std::vector<Change>& changes, const TableOptions& options) {
  Table table({{"WHO", Align::kLeft, true}, {"WHAT"}, {"BEFORE", Align::kLeft, true}, {"AFTER", Align::kLeft, true}});
  for (const Change& change : changes)
    table.AddRow({change.who, change.what, {change.before, Style::kDim}, {change.after, Style::kBold}});
  return table.Format(options);
}

}  // namespace berth::view
