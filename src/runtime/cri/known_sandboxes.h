// Tracked pod sandboxes of a CRI runtime. Decisions only: no calls, no threads; time comes in as an argument.
#ifndef BERTH_RUNTIME_CRI_KNOWN_SANDBOXES_H_
#define BERTH_RUNTIME_CRI_KNOWN_SANDBOXES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/os/clock.h"
#include "runtime/cri/cri_values.h"

namespace berth::cri {

/// What to do about the sandboxes of a pod before a container of it is made.
struct SandboxPlan {
  std::string use;  ///< id; "": a new one has to be made
  std::vector<Sandbox> remove;
  std::uint32_t attempt = 0;  ///< of the new one: no name that was used before
};

enum class StopStep {
  kDone,   ///< nothing of the pod is kept running
  kBegin,  ///< to be stopped now
  kWait,   ///< that goes on, or has failed and is tried again later
};

/// Not thread-safe.
class KnownSandboxes {
 public:
  /// What an earlier berthd left. Its last calls may have gone unanswered.
  void Recover(const std::vector<Sandbox>& found);
  /// Containers of this pod are to be started: it is not forgotten, whatever was asked for before.
  void Want(const std::string& uid);
  bool Wanted(std::string_view uid) const { return pods_.contains(uid); }

  /// A container of the pod is being started: the sandbox to use without asking the runtime, if one is known.
  std::optional<std::string> Usable(const std::string& uid);
  /// With the runtime's answer which sandboxes there are.
  SandboxPlan Plan(std::string_view uid, const std::vector<Sandbox>& found) const;
  void Made(const std::string& uid, const std::string& id, std::uint32_t attempt);
  /// What the runtime says of the network of the pod's sandbox `id`; of another one: nothing is kept.
  void SetAddresses(const std::string& uid, const std::string& id, std::vector<std::string> addresses);
  std::vector<std::string> Addresses(std::string_view uid) const;
  /// Of those that were Ready `before` the runtime was asked, with its answer which there are: those that are gone or
  /// do not run any more, by no doing of ours; id -> uid. They count as lost from here on. `busy`: a call for that pod
  /// is under way.
  std::map<std::string, std::string> TakeChanged(const std::map<std::string, std::string>& before,
                                                 const std::vector<Sandbox>& found,
                                                 const std::function<bool(const std::string& uid)>& busy);
  void NotMade(const std::string& uid, std::uint32_t attempt);  ///< its name may stay taken

  /// A call of the pod went unanswered: what there is has to be asked for before anything is made.
  void Doubt(const std::string& uid) { pods_[uid].uncertain = true; }
  void DoubtAll();
  void Sure(const std::string& uid) { pods_[uid].uncertain = false; }
  bool doubtful(std::string_view uid) const;

  /// The pod has to end; `busy`: a call for it is under way. kBegin is followed by Stopped or NotStopped.
  StopStep NextStop(std::string_view uid, bool busy, os::MonoTime now);
  void Stopped(std::string_view uid);
  void NotStopped(std::string_view uid, os::MonoTime now);

  /// The one that the pod's containers are in, or were in last; "": none is known.
  std::string Current(std::string_view uid) const;
  /// One that was seen and is not its pod's. One of an unknown pod is taken in, as by Recover, to be ended.
  bool IsLate(const Sandbox& found);
  /// Sandboxes that are there: id -> uid.
  std::map<std::string, std::string> Ready() const;
  /// False: it was not known.
  bool Forget(std::string_view uid);
  std::vector<std::string> AllBut(const std::set<std::string>& uids) const;

  // Pods of which the runtime has something that nobody needs and that could not be removed.
  /// True: that is to be told.
  bool Doom(const std::string& uid, os::MonoTime now);
  /// The same where nothing of it runs and the runtime refuses to remove it. `pod`: as people know it.
  bool Refuse(const std::string& uid, const std::string& pod, os::MonoTime now);
  /// To be tried again now.
  std::vector<std::string> RemovalsDue(os::MonoTime now) const;
  /// The pod's name where a refusal was told, else "".
  std::string Removed(const std::string& uid);

 private:
  struct State {
    std::string current;  // id; "": none
    std::vector<std::string> addresses;
    bool ready = false;      // the current one may run
    bool uncertain = false;  // a call went unanswered
    bool stopping = false;   // a stop was begun
    int stop_failures = 0;   // in a row
    os::MonoTime stop_again{};
    std::uint32_t attempts = 0;
  };

  struct Doomed {
    std::string refused;  // the pod's name; "": nobody refused
    int failures = 0;
    os::MonoTime again{};
  };
  Doomed& FailRemoval(const std::string& uid, os::MonoTime now);

  std::map<std::string, State, std::less<>> pods_;  // by uid
  std::map<std::string, Doomed> doomed_;            // by uid
};

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_KNOWN_SANDBOXES_H_
