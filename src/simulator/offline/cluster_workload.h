// Workload of a simulated cluster, pods that come and go: what they ask for, when they come, how long they stay.
#ifndef BERTH_SIMULATOR_OFFLINE_CLUSTER_WORKLOAD_H_
#define BERTH_SIMULATOR_OFFLINE_CLUSTER_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/pod.h"
#include "simulator/cluster/fleet.h"

namespace berth::offline {

/// One kind of pod, and how often it comes in proportion to others.
struct PodKind {
  Pod pod;
  std::uint32_t weight = 1;
};

struct Arrival {
  std::uint32_t kind = 0;  ///< position in Workload::kinds
  double at_s = 0;
  double stays_s = 0;
};

/// What a further pod of usual size asks for: what is stranded is measured by it.
struct UsualRequest {
  std::int64_t cpus = 1;
  std::int64_t memory = 0;  ///< bytes
};

struct Workload {
  std::vector<PodKind> kinds;
  std::size_t filling = 0;        ///< of the arrivals, the first ones: they are there when the time begins
  std::vector<Arrival> arrivals;  ///< by time
  UsualRequest usual;
};

struct WorkloadOptions {
  std::vector<std::string> manifests;  ///< pods and templates of workloads; {}: kinds made for the machines
  std::size_t pods = 0;                ///< how many come to the full cluster; 0: as many as there is room for
  unsigned hours = 24;                 ///< within how many hours
  unsigned load = 90;                  ///< percent of the CPUs (or memory) that are asked for at a time
  std::uint64_t seed = 1;
};

/// Pods for the nodes of `fleet`. Without manifests, kinds are made by what the first node's largest NUMA node has:
/// a 32nd, 16th, 8th, quarter and half of its CPUs, with half, once and one and a half times as much of its memory; of
/// five pods, four are Guaranteed and one asks for no limits. A tenth of the Guaranteed ones take a device where nodes
/// have some. As many pods as the load says are there from the start; then others come as these go, at random times.
/// Stays are exponentially distributed, with the mean that keeps the cluster at its load. The same options give the
/// same pods. Errors: as reading and parsing the files; kInvalid where no pod asks for CPUs or memory, or there is no
/// node.
Result<Workload> MakeWorkload(const WorkloadOptions& options, const cluster::Fleet& fleet, std::ostream& err);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_CLUSTER_WORKLOAD_H_
