// Watcher of all containers of a CRI runtime: looks again and again, listens to the runtime where it tells of changes,
// and sees to what failed in the background and to the runtime's record of CPUs.
#ifndef BERTH_RUNTIME_CRI_CRI_WATCHER_H_
#define BERTH_RUNTIME_CRI_CRI_WATCHER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "host/os/keyed_jobs.h"
#include "runtime/cri/ender.h"
#include "runtime/cri/log_keeper.h"
#include "runtime/cri/shared.h"

namespace berth::cri {

/// A runtime that has not answered a call of a look in this time is said not to answer.
inline constexpr os::Millis kUsualList{8'000};

class Watcher {
 public:
  /// All outlive its threads; jobs it posts use it.
  Watcher(Shared& shared, Ender& ender, os::KeyedJobs& workers)
      : shared_(shared), ender_(ender), workers_(workers), logs_(shared) {}
  ~Watcher() = default;
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  void Begin();
  /// Waits for its threads. Requires: shared.stop is set and shared.cancel readable.
  void End();

 private:
  void Watch();
  /// What the runtime says in one look.
  struct Answers {
    std::vector<ContainerEntry> containers;
    std::vector<runtime::ContainerStatus> ends;  ///< those to tell
    std::vector<runtime::ContainerStatus> runs;  ///< what was untold of those that run
    Result<void> statuses;                       ///< an error: the runtime did not say how all others have ended
    std::map<std::string, std::string> before;   ///< sandboxes that were there before it was asked: id -> uid
    std::optional<std::vector<Sandbox>> sandboxes;
  };

  std::uint64_t WaitForTurn();  ///< 0: the end has come
  void Look(std::uint64_t number);
  Result<Answers> Ask(std::uint64_t number);
  bool TakeOutcome(const Result<Answers>& answers);
  Seen Compare(const std::vector<ContainerEntry>& list, std::uint64_t number);
  std::vector<std::string> InTurn(std::vector<std::string> ended);
  Result<void> AskForEnds(const std::vector<std::string>& ended, std::vector<runtime::ContainerStatus>& ends);
  Result<std::optional<runtime::ContainerStatus>> AskForEnd(const std::string& id);
  Result<void> AskForRuns(const std::vector<std::string>& untold, std::vector<runtime::ContainerStatus>& runs);
  Result<std::optional<runtime::ContainerStatus>> AskForStatus(const std::string& id);
  Result<void> AskForSandboxes(Answers& answers);
  void TryAgain();
  void CheckLogs();
  void LookForLateContainers(const std::vector<ContainerEntry>& list);
  void LookAtSandboxes(const Answers& answers);
  void TakeChangedSandboxes(const std::map<std::string, std::string>& before, const std::vector<Sandbox>& found);
  void RetryUnanswered(os::MonoTime asked);
  void UpdateRecord(const std::string& id);
  void Listen();
  bool PauseListening();

  Shared& shared_;
  Ender& ender_;
  os::KeyedJobs& workers_;
  LogKeeper logs_;
  os::Millis patience_ = kUsualList;                // of the watching thread, with the next look
  os::MonoTime next_log_check_{};                   // likewise
  os::MonoTime next_sandbox_look_{};                // likewise
  std::map<std::string, os::MonoTime> open_logs_;   // likewise: containers that have ended, id -> when that is told
  std::map<std::string, os::MonoTime> unanswered_;  // likewise, whose status went unanswered: id -> when, last
  std::thread watching_;
  std::thread listening_;
};

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_CRI_WATCHER_H_
