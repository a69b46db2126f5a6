// Tracked containers of a CRI runtime: their status, and the CPUs the runtime has on record for them. Decisions only:
// no calls, no threads, no clock.
#ifndef BERTH_RUNTIME_CRI_KNOWN_CONTAINERS_H_
#define BERTH_RUNTIME_CRI_KNOWN_CONTAINERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "runtime/cri/cri_values.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::cri {

/// What an answer to "which containers are there" means for those that ran.
struct Seen {
  std::vector<runtime::ContainerStatus> vanished;  ///< not there any more; as kUnknown
  std::vector<std::string> ended;                  ///< there, and not running: how they ended has to be asked
  std::vector<std::string> untold;                 ///< they run; since when and as which process has to be asked
};

/// Not thread-safe.
class KnownContainers {
 public:
  /// The newest word about a container. `recorded`: CPUs the runtime has on record, nullopt: nothing new about them.
  void Take(const runtime::ContainerStatus& status, const std::optional<std::string>& recorded);
  /// A look at all containers begins. What is taken in from here on is newer than its answer.
  std::uint64_t BeginLook() { return ++looks_; }
  Seen Compare(const std::vector<ContainerEntry>& list, std::uint64_t look) const;
  std::vector<runtime::ContainerStatus> List() const;
  /// nullptr: not known.
  const runtime::ContainerStatus* Find(std::string_view id) const;

  /// Uid of its pod; nullopt: it is not known. Errors: kConflict while it runs.
  Result<std::optional<std::string>> Forget(std::string_view id);
  /// Forgets what CPUs the containers of a pod should have.
  void ForgetPod(std::string_view uid);

  // Those whose removal failed.
  bool Doom(const std::string& id) { return doomed_.insert(id).second; }  ///< false: known already
  void Removed(const std::string& id) { doomed_.erase(id); }
  const std::set<std::string>& doomed() const { return doomed_; }

  // CPUs and other values. The kernel has them already; the runtime's record follows.
  void Want(const std::string& uid, const std::string& container, std::string cpus);
  /// Other values it has since it was resized, to be told once.
  void WantValues(const std::string& uid, const std::string& container, Resources values);
  std::string Wanted(const std::string& uid, const std::string& container) const;  ///< "": nobody said
  /// Running containers whose record differs from what is wanted; each is under way until UpdateEnded.
  std::vector<std::string> UpdatesDue();
  /// What to send now, which may be newer than what was due; nullopt: it is not known any more.
  std::optional<Resources> UpdateBegins(std::string_view id) const;
  /// Returns what to tell people, if anything.
  std::optional<std::string> UpdateEnded(std::string_view id, const Resources& sent, const Result<void>& done);

 private:
  struct Known {
    runtime::ContainerStatus status;
    std::optional<std::string> recorded;  // nullopt: not known
    bool updating = false;
    int refused = 0;          // updates in a row
    std::uint64_t since = 0;  // look that was under way when it was taken in
  };

  std::map<std::string, Known, std::less<>> known_;                         // by id
  std::map<std::pair<std::string, std::string>, std::string> wanted_cpus_;  // by uid and container
  std::map<std::pair<std::string, std::string>, Resources> wanted_values_;  // likewise; those not told yet
  std::set<std::string> doomed_;
  std::uint64_t looks_ = 0;
};

/// Of the containers a berthd finds at its start, those it removes: made and never started, and ended attempts that a
/// newer one has followed.
std::vector<ContainerEntry> OfNoUse(const std::vector<ContainerEntry>& found);

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_KNOWN_CONTAINERS_H_
