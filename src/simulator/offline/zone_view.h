// NodeResourceTopology cache of a scheduler plug-in, simulated: per-zone availability in a cluster by the rules of
// NodeResourceTopologyMatch with its cache "OverReserve".
#ifndef BERTH_SIMULATOR_OFFLINE_ZONE_VIEW_H_
#define BERTH_SIMULATOR_OFFLINE_ZONE_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/pod.h"
#include "simulator/cluster/fleet.h"

namespace berth::offline {

/// What a pod asks of zones, container by container. Made by a ZoneView, and only of use to it.
struct ZoneAsks {
  struct Amount {
    std::size_t resource = 0;
    std::int64_t amount = 0;
  };
  struct One {
    std::vector<Amount> amounts;  ///< that have to be on one zone
    bool init = false;
  };
  std::vector<One> containers;
  One whole;                      ///< of the pod, for scope pod
  std::vector<Amount> effective;  ///< all that it requests
};

class ZoneView {
 public:
  /// Believes what the nodes publish now. Requires: nodes do not come or go afterwards.
  explicit ZoneView(const cluster::Fleet& fleet);

  ZoneAsks AsksOf(const Pod& pod) const;
  /// What the plug-in's filter says; a node it says no to is looked at again at the next Resync. Nodes with policies
  /// other than single-numa-node pass. Memory that a node's memory manager keeps no account of counts as enough.
  bool Passes(const ZoneAsks& asks, cluster::NodeIndex node);
  /// The pod was sent there: it is taken off every zone, because its zone is not known.
  void Reserve(const ZoneAsks& asks, cluster::NodeIndex node);
  /// Reads again what those nodes publish that were said no to since the last time.
  void Resync();

 private:
  /// Of one zone, by resource; kNotListed: the zone does not list it.
  using Available = std::vector<std::int64_t>;
  struct Viewed {
    std::vector<Available> zones;
    bool checked = false;  // policy single-numa-node
    bool pod_scope = false;
    bool refused = false;
  };

  void AddNames(const cluster::State& state);
  void Read(cluster::NodeIndex node);
  std::vector<ZoneAsks::Amount> AmountsOf(const ResourceList& requests, bool only_counted) const;
  static std::size_t FirstFor(const std::vector<Available>& zones, const std::vector<ZoneAsks::Amount>& amounts);
  static void TakeOff(Available& zone, const std::vector<ZoneAsks::Amount>& amounts);
  static bool FitsContainers(std::vector<Available> zones, const ZoneAsks& asks);

  const cluster::Fleet& fleet_;
  std::map<std::string, std::size_t, std::less<>> names_;  // every resource some zone lists
  std::vector<Viewed> nodes_;                              // by number
  std::vector<cluster::NodeIndex> refused_;
};

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_ZONE_VIEW_H_
