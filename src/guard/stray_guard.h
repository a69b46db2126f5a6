// Processes of containers that left their cpuset: seen by a look over /proc, and moved back.
#ifndef BERTH_GUARD_STRAY_GUARD_H_
#define BERTH_GUARD_STRAY_GUARD_H_

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cgroup/strays.h"
#include "pods/parts.h"

namespace berth::guard {

/// Thread: the loop's only; a worker looks and moves, for both take longer the more processes there are.
class StrayGuard {
 public:
  explicit StrayGuard(const pods::Parts& parts) : parts_(parts) {}

  /// Begins a look, unless one is under way. What is astray at two looks in a row is moved back into its container's
  /// groups; where a runtime makes these, a container may have its reasons, and it is only reported.
  void Look();

 private:
  struct Of {
    std::string path;  // below our root
    std::string uid;
    std::string container;
    std::vector<std::string> dirs;  // of its groups
  };
  /// What was done about it; "": it is seen for the first time, and may be on its way.
  struct Seen {
    cgroup::Stray stray;
    std::string outcome;
  };
  using Known = std::set<std::pair<int, std::string>>;  // pid and cpuset
  static Result<std::vector<Seen>> LookAndReturn(const std::vector<Of>& of, const std::vector<cgroup::Home>& homes,
                                                 const Known& before, bool may_move);
  void Take(const std::vector<Of>& of, const std::vector<Seen>& seen);
  void Tell(const Of& of, const Seen& first, std::size_t others);

  pods::Parts parts_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  bool looking_ = false;
  Known seen_;                  // at the last look
  std::set<std::string> told_;  // paths of containers whose strays were told
};

}  // namespace berth::guard

#endif  // BERTH_GUARD_STRAY_GUARD_H_
