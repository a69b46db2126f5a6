// Stands between berthd and a container runtime: sees every call by its name, counts it, and lets it wait, get lost or
// go unanswered as a test wants it.
//
// Calls that are not told otherwise pass unchanged. berthd has one connection to the relay, and the relay one to the
// runtime: what happens to one call happens to no other.
#ifndef BERTH_TESTS_INTEGRATION_CRI_RELAY_H_
#define BERTH_TESTS_INTEGRATION_CRI_RELAY_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/os/clock.h"

namespace berth::testkit {

struct RelayedCall {
  std::string method;   ///< "CreateContainer"
  std::string about;    ///< id of the container or sandbox the request begins with; "": none
  std::string request;  ///< the message
  os::MonoTime at;      ///< when it was asked
};

class CriRelay {
 public:
  enum class Moment {
    kAsked,    ///< the request is there, the runtime does not know of it
    kAnswered  ///< the runtime has done it, berthd does not know of it
  };
  struct Fate {
    os::Millis delay{0};  ///< ends early when berthd gives the call up
    bool lost = false;    ///< then: the call ends without an answer
    /// kAsked: the runtime is asked though berthd has given the call up, and its answer goes nowhere then.
    bool outlives = false;
  };
  using Judge = std::function<Fate(const RelayedCall&, Moment)>;

  /// Listens at `listen` and speaks to the runtime behind `target`, which may come and go.
  CriRelay(const std::string& listen, const std::string& target);
  ~CriRelay();  ///< cuts all calls
  CriRelay(const CriRelay&) = delete;
  CriRelay& operator=(const CriRelay&) = delete;

  /// Asked at both moments of every call from now on, on threads of the relay; nullptr: all pass.
  void SetJudge(Judge judge);
  /// Calls asked for so far, in their order.
  std::vector<RelayedCall> Calls() const;
  std::size_t Count(std::string_view method) const;

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_CRI_RELAY_H_
