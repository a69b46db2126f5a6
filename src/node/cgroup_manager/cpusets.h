// CPUs and memory nodes of all groups: put in force in an order that keeps exclusive CPUs apart, and put right.
#ifndef BERTH_NODE_CGROUP_MANAGER_CPUSETS_H_
#define BERTH_NODE_CGROUP_MANAGER_CPUSETS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "host/cgroup/cpu_move.h"
#include "host/os/clock.h"
#include "node/cgroup_manager/cpu_partitions.h"
#include "node/cgroup_manager/displaced_processes.h"
#include "node/cgroup_manager/planner.h"
#include "node/cgroup_manager/runtime_groups.h"
#include "node/cgroup_manager/site.h"

namespace berth::cgroup_manager {

/// What was put right.
struct Repaired {
  std::string path;
  std::string what;  ///< "CPUs were 0-3, must be 2"
};

/// Whether the processes of a container have begun to run, and may have memory that the kernel would migrate.
enum class Runs : std::uint8_t { kNotYet, kAlready };

/// Both are done in slices: what is to be done is planned at the beginning, with the ledger and the groups of then.
/// When these change, Restart has to be called.
///
/// Thread: the loop's only.
class Cpusets {
 public:
  Cpusets(const Site& site, const GroupTable& table, const Planner& planner, CpuPartitions& partitions,
          RuntimeGroups& runtime_groups)
      : site_(site),
        table_(table),
        planner_(planner),
        partitions_(partitions),
        runtime_groups_(runtime_groups),
        displaced_(site, table) {}

  /// Gives every container group and Berth's own the CPUs `ledger` says, shrinking before growing. False: there is more
  /// to do; to be called again. Until it has returned true, and after an error, some groups may still have more than
  /// they should: nothing with exclusive CPUs may be started then. Groups of a runtime are those found so far
  /// (RuntimeGroups::Find); others are within their pod's. When the kernel refuses CPUs for their sake, or for a group
  /// somebody else made below a pod or container (v1), they are looked for and narrowed. Errors: kBusy: systemd is
  /// being asked (Site::IsUnderWay; goes on with the next call), or a runtime may be making such a group; to be tried
  /// again in a moment.
  Result<bool> Apply(const Ledger& ledger, const os::Slice& slice = {});
  /// Takes from every container at once what `ledger` gives to others, and gives nobody anything: all that has to be
  /// done before an answer that somebody waits for. The rest (who gets more, sandboxes, in which nothing runs) is
  /// Apply's, which begins anew. Groups are taken to have what Apply and Put left them with: what somebody else wrote
  /// since is found by these and by Repair. False: some container has nothing of what it shall have, or what it has
  /// cannot be taken like that; Apply has to be done. Errors: of what is read.
  Result<bool> Narrow(const Ledger& ledger);
  /// Compares CPUs and memory nodes of the kernel's cpusets with the ledger and writes only what differs; other values
  /// are not looked at, nor groups that are being made. Returns what was put right; nullopt: there is more to look at;
  /// to be called again. CPUs that went off- or online since Apply are not followed here: nothing is put right then, as
  /// what differs was nobody's write (see online()). Errors: as Apply.
  Result<std::optional<std::vector<Repaired>>> Repair(const Ledger& ledger, const os::Slice& slice = {});
  /// Gives the group of one container, whatever it has, the CPUs and memory nodes `ledger` says. Requires: Apply was
  /// done. Gone: success. Errors: of the kernel; kBusy (Site::IsUnderWay) for one that runs: it has its CPUs, and its
  /// memory is being migrated, or that of another, and Repair comes to it.
  Result<void> Put(const std::string& path, const Ledger& ledger, Runs runs);
  /// Memory of the pod's containers goes where the ledger has it, with the next Apply that comes to its end.
  void MoveMemory(const std::string& uid) { memory_moves_.insert(uid); }
  /// The next call of either begins anew. Apply does not read again what the one that was under way has read or
  /// written, if it is done in slices: however often it is begun anew, it comes to its end.
  void Restart();
  /// The CPUs that were online for the last Apply that came to its end; nullopt: none did, or not known. When others
  /// are online now, Apply has to be called.
  const Online& online() const { return in_force_; }
  /// v1: containers some of whose processes could not be moved back into their cpuset at the last Repair, or Apply
  /// after CPUs went off- or online, and why.
  const std::map<std::string, std::string>& displaced_problems() const { return displaced_.problems(); }

 private:
  struct Applying {
    Online online;
    WantedCpus wanted;
    cgroup::CpuMove first;
    cgroup::CpuMove inherited;
    bool carried = false;  // what the one before it had read and written was not read again
    bool moved = false;    // both are done, and partitions made
  };
  /// Sets that are looked at: those of one list, then those that inherit.
  struct Looking {
    Online online;
    WantedCpus wanted;
    NodeSet all_mems;
    bool at_inherited = false;
    std::size_t next = 0;  // of the list
    WantedSets cpus_differ;
    std::vector<std::pair<std::string, NodeSet>> mems_differ;
    std::optional<cgroup::CpuMove> move;  // of those that differ
    std::vector<Repaired> differences;    // the same in words
    std::vector<Repaired> out;
    const WantedSets& list() const { return at_inherited ? wanted.inherited : wanted.first; }
  };

  Result<bool> GoOnApplying(const Ledger& ledger, const os::Slice& slice);
  Result<void> GiveOwnSets(const WantedCpus& wanted);
  Result<void> MoveMemories(const Ledger& ledger);
  Result<void> MoveMemory(const std::string& path, const NodeSet& mems);
  void NoteLeft(const WantedCpus& wanted);
  Result<std::optional<CpuSet>> HeldBy(const std::string& path) const;
  Result<bool> GoOnRepairing(const Ledger& ledger, const os::Slice& slice);
  Result<bool> RepairList(const Ledger& ledger, const os::Slice& slice);
  Result<void> PlanRepair();
  Result<void> LookAt(const std::string& path, const CpuSet& cpus, const Ledger& ledger);
  Result<int> NarrowForeignGroups(const Ledger& ledger);
  int NarrowBelow(const std::string& above, const CpuSet& most);

  const Site& site_;
  const GroupTable& table_;
  const Planner& planner_;
  CpuPartitions& partitions_;
  RuntimeGroups& runtime_groups_;
  DisplacedProcesses displaced_;
  std::optional<Applying> applying_;
  Online in_force_;
  NodeSet mems_in_force_;               // that had memory at the last look
  std::set<std::string> memory_moves_;  // uids
  bool own_sets_ = false;               // all containers below classes have sets of their own
  std::set<std::string> to_own_;        // those that do not yet
  std::map<std::string, CpuSet> left_;  // what groups were left with since Apply last came to its end, or was begun
  std::optional<Online> cut_off_;       // what was online for an Apply that was begun anew before its end
  int looks_ = 0;                       // tries in a row at groups somebody is making
  std::optional<Looking> looking_;
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_CPUSETS_H_
