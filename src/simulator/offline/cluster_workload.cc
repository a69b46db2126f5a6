#include "simulator/offline/cluster_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "host/os/input.h"
#include "manifest/manifest.h"
#include "model/resources.h"
#include "simulator/cluster/shape.h"

namespace berth::offline {
namespace {

/// Numbers that are the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : rng_(seed) {}
  std::uint64_t Below(std::uint64_t n) { return rng_() % n; }
  /// Exponentially distributed.
  double Exponential(double mean) {
    constexpr double kOf = 1ULL << 53;
    return -mean * std::log((static_cast<double>(rng_() >> 11) + 1) / kOf);
  }

 private:
  std::mt19937_64 rng_;
};

Quantity Cpus(std::int64_t cpus) { return Quantity::FromUnits(cpus); }

Pod MadePod(std::int64_t cpus, std::int64_t memory, bool limited, const std::string& device) {
  Pod out;
  out.name = "made";
  Container& app = out.containers.emplace_back();
  app.name = "app";
  app.resources.requests = {{"cpu", Cpus(cpus)}, {"memory", Quantity::FromBytes(Bytes{memory})}};
  if (limited) app.resources.limits = app.resources.requests;
  if (!device.empty()) app.resources.requests[device] = app.resources.limits[device] = Quantity::FromUnits(1);
  return out;
}

/// Resources of plug-ins, the first of each kind of node.
std::vector<std::string> DevicesOf(const cluster::Fleet& fleet) {
  std::vector<std::string> out;
  for (const cluster::NodeIndex node : fleet.Nodes()) {
    const DeviceInventory& devices = fleet.KindOf(node).inputs.devices;
    if (!devices.empty() && std::ranges::find(out, devices.begin()->first) == out.end())
      out.push_back(devices.begin()->first);
  }
  return out;
}

std::vector<PodKind> MadeKinds(const cluster::Fleet& fleet) {
  const cluster::Kind& kind = fleet.KindOf(fleet.Nodes().front());
  std::int64_t cpus = 1;
  for (const cluster::Zone& zone : kind.zones) cpus = std::max<std::int64_t>(cpus, zone.cpus.Count());
  if (kind.exclusive_cpus == 0) cpus = std::max<std::int64_t>(1, kind.cpu_milli / 1000);
  const double per_cpu = static_cast<double>(kind.memory) / std::max(1.0, static_cast<double>(kind.cpu_milli) / 1000);
  constexpr std::array<std::pair<int, unsigned>, 5> kParts{{{32, 30}, {16, 30}, {8, 20}, {4, 14}, {2, 6}}};
  constexpr std::array kShares{0.5, 1.0, 1.5};
  const std::vector<std::string> devices = DevicesOf(fleet);
  std::vector<PodKind> out;
  for (const auto& [part, weight] : kParts)
    for (const double share : kShares) {
      const std::int64_t some = std::max<std::int64_t>(1, (cpus + part / 2) / part);
      const auto mib = static_cast<std::int64_t>(per_cpu * share * static_cast<double>(some) / (1 << 20));
      const std::int64_t memory = MiB(std::max<std::int64_t>(16, mib)).v;
      out.push_back({MadePod(some, memory, true, ""), 36 * weight});
      out.push_back({MadePod(some, memory, false, ""), 10 * weight});
      for (const std::string& device : devices) out.push_back({MadePod(some, memory, true, device), 4 * weight});
    }
  return out;
}

Result<std::vector<PodKind>> ReadKinds(const std::vector<std::string>& files, std::ostream& err) {
  std::vector<PodKind> out;
  std::map<std::string, std::size_t> by_shape;
  for (const std::string& file : files) {
    BERTH_TRY(const std::string text, os::ReadInput(file));
    BERTH_TRY(auto parsed, manifest::ParsePods(
                               text, file == "-" ? "standard input" : file,
                               {.to_be_run = false, .templates = true, .most_pods = manifest::PodOptions::kAnyNumber}));
    for (const manifest::Warning& w : parsed.warnings)
      err << "berth: warning: " << w.where << ": " << w.message << "\n";
    for (Pod& pod : parsed.pods) {
      const auto [known, is_new] = by_shape.emplace(cluster::ShapeKey(pod), out.size());
      if (is_new) {
        out.push_back({std::move(pod), 1});
      } else {
        ++out[known->second].weight;
      }
    }
  }
  return out;
}

/// What all kinds ask for, each as often as it comes.
struct Mean {
  double cpus = 0;
  double memory = 0;
};

Mean MeanOf(const std::vector<PodKind>& kinds) {
  Mean out;
  double weights = 0;
  for (const PodKind& kind : kinds) {
    const ResourceList requests = PodRequests(kind.pod);
    out.cpus += kind.weight * static_cast<double>(AmountOf(requests, "cpu").MilliValue()) / 1000;
    out.memory += kind.weight * static_cast<double>(AmountOf(requests, "memory").Value());
    weights += kind.weight;
  }
  return {out.cpus / weights, out.memory / weights};
}

/// As many pods as there is room for by sums.
double RoomFor(const Mean& mean, const cluster::Fleet& fleet) {
  double cpus = 0;
  double memory = 0;
  for (const cluster::NodeIndex node : fleet.Nodes()) {
    const cluster::NodeFigures figures = fleet.Figures(node);
    cpus += static_cast<double>(figures.cpu_milli) / 1000;
    memory += static_cast<double>(figures.memory);
  }
  const double by_cpus = mean.cpus > 0 ? cpus / mean.cpus : 1e18;
  const double by_memory = mean.memory > 0 ? memory / mean.memory : 1e18;
  return std::min(by_cpus, by_memory);
}

/// `filling` that are there, and `count` that come within `hours`, the last one at their end.
std::vector<Arrival> MakeArrivals(const std::vector<PodKind>& kinds, std::size_t filling, std::size_t count,
                                  double hours, Dice& dice) {
  std::vector<std::uint32_t> until;  // sums of weights
  for (const PodKind& kind : kinds) until.push_back((until.empty() ? 0 : until.back()) + kind.weight);
  const double between_s = hours * 3600 / static_cast<double>(count);
  std::vector<Arrival> out(filling + count);
  double now_s = 0;
  for (std::size_t number = 0; number < out.size(); ++number) {
    if (number >= filling) now_s += dice.Exponential(between_s);
    const auto kind = std::ranges::upper_bound(until, dice.Below(until.back()));
    out[number] = {.kind = static_cast<std::uint32_t>(kind - until.begin()),
                   .at_s = now_s,
                   .stays_s = dice.Exponential(between_s * static_cast<double>(filling))};
  }
  if (now_s > 0)
    for (Arrival& arrival : out) arrival.at_s *= hours * 3600 / now_s;
  return out;
}

}  // namespace

Result<Workload> MakeWorkload(const WorkloadOptions& options, const cluster::Fleet& fleet, std::ostream& err) {
  if (fleet.size() == 0) return Fail(Code::kInvalid, "the cluster has no nodes");
  Workload out;
  if (options.manifests.empty()) {
    out.kinds = MadeKinds(fleet);
  } else {
    BERTH_TRY(out.kinds, ReadKinds(options.manifests, err));
  }
  if (out.kinds.empty()) return Fail(Code::kInvalid, "there is no pod in the manifests");
  const Mean mean = MeanOf(out.kinds);
  if (mean.cpus <= 0 && mean.memory <= 0)
    return Fail(Code::kInvalid, "no pod of the manifests asks for CPUs or memory, so any number of them fits");
  out.usual = {.cpus = std::max<std::int64_t>(1, std::llround(mean.cpus)), .memory = std::llround(mean.memory)};
  const double room = RoomFor(mean, fleet);
  const double at_a_time = std::max(1.0, room * options.load / 100);
  const std::size_t count = options.pods != 0 ? options.pods : static_cast<std::size_t>(room) + 1;
  Dice dice(options.seed);
  out.filling = static_cast<std::size_t>(at_a_time);
  out.arrivals = MakeArrivals(out.kinds, out.filling, count, options.hours, dice);
  return out;
}

}  // namespace berth::offline
