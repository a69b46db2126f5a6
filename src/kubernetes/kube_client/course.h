// Watch state machine: the next step of a list and watch (initial events, list, watch) and its resourceVersion, after
// any event or failure. Pure: time is an argument. Internal to this folder.
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_COURSE_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_COURSE_H_

#include <string>

#include "host/os/clock.h"
#include "kubernetes/kube_client/answer.h"

namespace berth::kube {

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

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_COURSE_H_
