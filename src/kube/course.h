// What a watch does next, after all that can happen to one. Pure: time and chance are arguments. Internal to the room.
#ifndef BERTH_KUBE_COURSE_H_
#define BERTH_KUBE_COURSE_H_

#include <string>

#include "kube/answer.h"
#include "os/clock.h"

namespace berth::kube {

struct PaceOptions {
  os::Millis first{800};
  os::Millis most{30'000};
  os::Millis forget{120'000};  ///< without a failure: the next one counts as the first
};

/// Growing pauses, spread so that the clients of a server that was away do not come back at one time.
class Pace {
 public:
  explicit Pace(const PaceOptions& options) : options_(options) {}
  /// `chance`: 0 to 1. The pause: doubled with each failure, and up to as much again.
  os::Millis Failed(os::MonoTime now, double chance);

 private:
  PaceOptions options_;
  os::Millis next_{0};
  os::MonoTime last_{};
};

class Course {
 public:
  enum class Step {
    kInitialEvents,  ///< a watch that begins with the state
    kList,
    kWatch,
  };
  /// `selective`: the server finds what is asked for without going through everything it stores; a list may come from
  /// what it has at hand, in one page.
  explicit Course(bool selective) : selective_(selective) {}

  Step step() const;
  /// Where the step begins; "": the newest there is.
  std::string From() const;

  /// The state has been taken in, up to `version`.
  void Listed(const std::string& version);
  /// An event or a bookmark was.
  void Seen(const std::string& version);
  /// Whether a stream that the server ended is no failure: it lasted, or `any` came.
  static bool EndedWell(os::Millis lasted, bool any);
  void Failed(const CallError& error);

 private:
  bool selective_;
  bool listed_ = false;
  bool initial_events_ = true;  // as far as is known the server can do that
  bool newest_ = false;         // what we have seen, the server has not or no longer
  std::string version_;
};

}  // namespace berth::kube

#endif  // BERTH_KUBE_COURSE_H_
