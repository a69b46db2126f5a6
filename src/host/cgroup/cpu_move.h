// The move of many cpusets from what they are to what they shall be, one write at a time, with no overlap on the way.
//
// Leaves (sets with none of the wanted ones below them) hold processes. A leaf is finished when it has its wanted set;
// it blocks others while it holds CPUs beyond that. The rules:
//   0. A leaf whose wanted set is free takes it at once.
//   1. Every leaf gives up what it may not keep, as long as something wanted remains.
//   2. A leaf takes its wanted set once nobody holds a part of it that he must give up; a leaf that has nothing wanted
//      yet already takes the free part, because that frees all it had.
//   3. When neither helps, leaves wait for each other in a circle. One of them is parked on a CPU nobody has, for which
//      a leaf with several CPUs lends one if need be.
// Sets above leaves hold no processes: they grow before everything else and shrink after it.
#ifndef BERTH_HOST_CGROUP_CPU_MOVE_H_
#define BERTH_HOST_CGROUP_CPU_MOVE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/id_set.h"
#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/os/clock.h"

namespace berth::cgroup {

/// One such move. What it promises holds for any number of pieces it is done in. Thread: that of the tree.
class CpuMove {
 public:
  /// `wanted`: as for ApplyCpus. `known`: what these sets are, of those that need not be read. Errors: kInvalid (empty
  /// or contradicting sets).
  static Result<CpuMove> Plan(const std::vector<std::pair<std::string, CpuSet>>& wanted,
                              std::map<std::string, CpuSet> known = {});

  /// Goes on until every set is what it shall be, or the slice is over (false): call it again. What others write to
  /// these sets between two calls is not seen. Errors: as ApplyCpus; a set that could not be written is tried again by
  /// the next call.
  Result<bool> Work(Tree& tree, const os::Slice& slice);
  int writes() const { return writes_; }
  /// Adds what leaves are now, for a plan that takes this one's place: those that were read or known, and whose last
  /// write did not fail. Those that `known` has stay as they are there.
  void TellLeaves(std::map<std::string, CpuSet>& known) const;

 private:
  struct Set {
    std::string path;
    CpuSet want;
    CpuSet now;
    bool unsure = false;  // the last write failed, or somebody is being asked to do it
    CpuSet Surplus() const { return now - want; }
    bool Done() const { return now == want; }
  };
  enum class Stage { kRead, kGrow, kTakeFree, kGiveUp, kExchange, kShrink, kDone };
  enum class Pass { kNothing, kMoved, kSliceOver };

  CpuMove(std::map<std::string, CpuSet> wanted, std::map<std::string, CpuSet> known)
      : wanted_(std::move(wanted)), known_(std::move(known)) {}
  Result<bool> Step(Tree& tree, const os::Slice& slice);
  Result<bool> Read(Tree& tree, const os::Slice& slice);
  bool IsUpper(const std::string& path) const;
  Result<bool> SetUppers(Tree& tree, const os::Slice& slice);
  Result<void> Write(Tree& tree, Set& set, const CpuSet& cpus);
  Result<Pass> GiveUp(Tree& tree, const os::Slice& slice);
  Result<Pass> Take(Tree& tree, bool also_parts, const os::Slice& slice);
  Result<bool> Exchange(Tree& tree, const os::Slice& slice);
  Result<bool> BreakCircle(Tree& tree);
  /// All that leaves still have to give up.
  CpuSet Surplus() const;
  CpuSet Held() const;
  /// The CPU whose loan costs the fewest writes; nullopt when each CPU is somebody's only one.
  std::optional<CpuId> LendableCpu() const;

  std::map<std::string, CpuSet> wanted_;
  std::map<std::string, CpuSet> known_;  // need not be read
  Stage stage_ = Stage::kRead;
  std::string read_to_;      // kRead: the last path that was read
  std::size_t next_ = 0;     // kGrow, kShrink: of uppers_
  std::vector<Set> uppers_;  // in a map's order: parents first
  std::vector<Set> leaves_;
  CpuSet involved_;             // all CPUs leaves have or want
  std::size_t parked_ = 0;      // kExchange: leaves so far
  std::optional<CpuId> spare_;  // likewise: being freed for one to park on
  int writes_ = 0;
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_CPU_MOVE_H_
