// Cgroups that a runtime makes for containers and sandboxes: found when they appear (inotify on the cpuset hierarchy,
// from the kubelet's kubepods on), and again when their CPUs are written. Design: docs/design/nri.md.
#ifndef BERTH_FRONTEND_NRI_AGENT_NEW_GROUPS_H_
#define BERTH_FRONTEND_NRI_AGENT_NEW_GROUPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/result.h"
#include "host/os/entry_watch.h"

namespace berth::nri_agent {

/// Thread: the loop's only.
class NewGroups {
 public:
  /// Called with the path of a group of a container or sandbox that has come, or whose CPUs somebody wrote.
  using Came = std::function<void(const std::string& path)>;
  using Known = std::function<bool(const std::string& path)>;
  /// Called once, when a folder cannot be watched: why, what follows, and the cure.
  using Problem = std::function<void(const std::string& message)>;

  /// `root`: directory of Berth's root in the cpuset hierarchy; "": there is none. Errors: as inotify_init1(2).
  static Result<NewGroups> Open(std::string root, Known known, Came came, Problem problem);

  /// Groups that come from now on are told. `all_known`: those that were there before are `known`; others are told too.
  /// Again before End: nothing more, unless those that were there before are known only now.
  void Begin(bool all_known);
  /// A runtime asks about each container now: groups that come are told all the same, each until it is known. Until
  /// Begin.
  void Settle() { settled_ = true; }
  void End();
  /// For tests: of the last Begin; nullopt: before it, after End, and since Settle.
  std::optional<bool> all_known() const { return begun_ && !settled_ ? std::optional(all_known_) : std::nullopt; }
  int fd() const { return watch_.fd(); }  ///< readable when Take has something
  void Take();

 private:
  /// In the order in which they are found below each other.
  enum class Level : std::uint8_t { kRoot, kTier, kPod, kGroup };

  NewGroups(std::string root, Known known, Came came, Problem problem, os::EntryWatch watch)
      : root_(std::move(root)),
        known_(std::move(known)),
        came_(std::move(came)),
        problem_(std::move(problem)),
        watch_(std::move(watch)) {}
  void LookAtAll();
  bool IsOld(const std::string& path);
  bool Watch(const std::string& dir);
  void Forget(const std::string& dir);
  void Look(const std::string& dir, Level level, bool is_new);
  void LookBelow(const std::string& above, Level level, const std::string& name, bool is_new);
  std::string PathOf(const std::string& dir) const { return dir.substr(root_.size() + 1); }

  std::string root_;
  Known known_;
  Came came_;
  Problem problem_;
  os::EntryWatch watch_;
  bool told_ = false;  // that one cannot be watched
  bool begun_ = false;
  bool all_known_ = false;
  bool first_look_ = false;
  bool settled_ = false;
  std::set<std::string> old_;            // paths of groups that were there at Begin, unless all are known
  std::map<std::string, Level> levels_;  // by directory, of those that are watched, or should be
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_NEW_GROUPS_H_
