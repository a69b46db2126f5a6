// CPUs and memory nodes of all groups: put in force in an order that keeps exclusive CPUs apart, and put right.
#ifndef BERTH_ENFORCE_CPUSETS_H_
#define BERTH_ENFORCE_CPUSETS_H_

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "enforce/partitions.h"
#include "enforce/planner.h"
#include "enforce/runtime_groups.h"
#include "enforce/site.h"

namespace berth::enforce {

/// What was put right.
struct Repaired {
  std::string path;
  std::string what;  ///< "CPUs were 0-3, must be 2"
};

/// Thread: the loop's only.
class Cpusets {
 public:
  Cpusets(const Site& site, const GroupTable& table, const Planner& planner, Partitions& partitions,
          RuntimeGroups& runtime_groups)
      : site_(site), table_(table), planner_(planner), partitions_(partitions), runtime_groups_(runtime_groups) {}

  /// Gives every container group and Berth's own the CPUs `ledger` says, shrinking before growing; returns the number
  /// of writes. After an error some groups may still have more than they should: nothing with exclusive CPUs may be
  /// started then. Groups of a runtime are those found so far (RuntimeGroups::Find); others are within their pod's.
  /// When the kernel refuses CPUs for their sake, or for a group somebody else made below a pod or container (v1), they
  /// are looked for and narrowed. kBusy: systemd is being asked (Site::IsUnderWay), or a runtime may be
  /// making such a group; to be tried again in a moment.
  Result<int> Apply(const Ledger& ledger);
  /// Compares CPUs and memory nodes of the kernel's cpusets with the ledger and writes only what differs; other values
  /// are not looked at. Errors: as Apply.
  Result<std::vector<Repaired>> Repair(const Ledger& ledger);
  /// Containers some of whose processes could not be moved back into their cpuset (v1) at the last Apply or Repair, and
  /// why.
  const std::map<std::string, std::string>& stray_problems() const { return stray_problems_; }

 private:
  Result<WantedCpus> Wanted(const Ledger& ledger) const;
  Result<int> TryApply(const Ledger& ledger);
  Result<bool> FindMore(const Ledger& ledger);
  Result<void> RepairSets(const WantedSets& wanted, const NodeSet& all_mems, const Ledger& ledger,
                          std::vector<Repaired>& out);
  Result<int> NarrowForeignGroups(const Ledger& ledger);
  int NarrowBelow(const std::string& above, const CpuSet& most);
  std::map<std::string, int> ReturnStrays();

  const Site& site_;
  const GroupTable& table_;
  const Planner& planner_;
  Partitions& partitions_;
  RuntimeGroups& runtime_groups_;
  std::map<std::string, std::string> stray_problems_;  // path -> why
};

}  // namespace berth::enforce

#endif  // BERTH_ENFORCE_CPUSETS_H_
