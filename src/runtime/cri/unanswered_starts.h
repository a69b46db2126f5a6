// Pods whose start a runtime did not answer, and when to try them again. Pure: time comes in as an argument.
#ifndef BERTH_RUNTIME_CRI_UNANSWERED_STARTS_H_
#define BERTH_RUNTIME_CRI_UNANSWERED_STARTS_H_

#include <map>
#include <string>
#include <vector>

#include "host/os/clock.h"

namespace berth::cri {

/// Not thread-safe.
class UnansweredStarts {
 public:
  /// A start of the pod got no answer.
  void Add(const std::string& uid, os::MonoTime now) { failed_.insert_or_assign(uid, now); }
  /// The runtime has answered what it was asked at `asked`: uids of the pods to try again, in order. Those whose start
  /// failed after that stay for a later answer: the runtime has gone since. One that was tried again less than 5 s ago
  /// is left to its back-off: it may be its start that makes the runtime fail.
  std::vector<std::string> TakeDue(os::MonoTime asked, os::MonoTime now);
  bool empty() const { return failed_.empty(); }

 private:
  std::map<std::string, os::MonoTime> failed_;  // uid -> when its last start did
  std::map<std::string, os::MonoTime> tried_;   // uid -> when it was due; for 5 s
};

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_UNANSWERED_STARTS_H_
