// Record of values that enforceNodeAllocatable wrote into groups of the host: later starts give back those that
// settings do not name any more.
#ifndef BERTH_DAEMON_KEPT_RESERVATIONS_H_
#define BERTH_DAEMON_KEPT_RESERVATIONS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/cgroup/node_values.h"
#include "host/os/fs.h"
#include "model/cgroup_values.h"

namespace berth::daemon {

/// A group of the host and what Berth writes there.
struct KeptReservation {
  std::string path;     ///< from the top of the hierarchy
  CgroupValues values;  ///< as cgroup::ReservedGroup has them
  friend bool operator==(const KeptReservation&, const KeptReservation&) = default;
};

/// Bytes <-> value, pure. Errors: kCorrupt, naming what is wrong.
std::string FormatReservations(const std::vector<KeptReservation>& kept);
Result<std::vector<KeptReservation>> ParseReservations(std::string_view text);

/// The record of one berthd, in a file that a boot forgets as it forgets groups.
class KeptReservations {
 public:
  /// `groups`: those that settings name now; one without a path is left out.
  KeptReservations(std::string file, cgroup::Driver driver, const std::vector<cgroup::ReservedGroup>& groups);

  using OpenRoot = std::function<Result<std::unique_ptr<os::Fs>>()>;  ///< the file system "/"
  /// For before the groups are enforced. Gives back each value that the record has, that `groups` do not set in that
  /// group, and that is there as it was written: what somebody else wrote since is his. The record then has both, so
  /// that nothing is forgotten when a start is refused. Returns what cannot be done, a sentence each; a later start
  /// tries it again. A record that cannot be read may be whole: it is not written over, and nothing is given back.
  std::vector<std::string> GiveBack(const OpenRoot& open, const cgroup::Layout& layout);
  /// All groups have what they should: the record has no more than that, and what could not be given back. Errors: as
  /// os::ReplaceVolatile; why the record could not be read.
  Result<void> Enforced();

 private:
  Result<void> GiveBackOne(const KeptReservation& kept, const OpenRoot& open, const cgroup::Layout& layout) const;
  CgroupValues LiftsOf(const KeptReservation& kept, const CgroupValues& found, const cgroup::Layout& layout) const;
  Result<void> Save(std::vector<KeptReservation> list);

  std::string file_;
  cgroup::Driver driver_;
  std::vector<KeptReservation> now_;
  std::vector<KeptReservation> failed_;  // could not be given back
  Result<std::string> text_;             // of the file; "": none
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_KEPT_RESERVATIONS_H_
