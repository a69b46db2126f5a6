// systemd asked by another thread, while the caller goes on. Internal to the component.
//
// A call begins the question and fails with kBusy; repeated when the answer is there, it returns that. So whoever calls
// again until it works, as everybody who writes to cgroups does, gets there without ever waiting.
#ifndef BERTH_HOST_CGROUP_SYSTEMD_ASKER_H_
#define BERTH_HOST_CGROUP_SYSTEMD_ASKER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/cgroup/systemd_bus.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/task_scope.h"
#include "host/os/clock.h"

namespace berth::cgroup {

/// Before Use it asks and waits by itself.
///
/// Thread: one; between Use and Leave `systemd` is the executor's.
class SystemdAsker {
 public:
  explicit SystemdAsker(std::unique_ptr<Systemd> systemd) : systemd_(std::move(systemd)) {}

  /// From now on nothing waits. `answered` is called on the executor's loop when there is an answer: what failed with
  /// kBusy should be called again.
  void Use(event_loop::Executor& executor, std::function<void()> answered);
  /// As before Use. Requires: no job of it runs any more.
  void Leave();
  bool in_use() const { return tasks_.has_value(); }

  // As those of Systemd. Errors: also kBusy, as above. Another question about the same unit takes the place of one that
  // was not answered, or whose answer nobody took: that one is still asked, before the new one.
  Result<bool> StartTransient(const std::string& unit, const std::vector<Property>& properties);
  Result<void> Start(const std::string& unit);
  /// Before and after it: `keep` reads and restores what systemd may write beside; both are called on the thread that
  /// asks.
  struct Keep {
    std::function<void()> read;
    std::function<Result<void>()> restore;
  };
  Result<void> Set(const std::string& unit, const std::vector<Property>& properties, const Keep& keep);
  Result<void> Attach(const std::string& unit, int pid);
  Result<void> Stop(const std::string& unit);
  /// Closes the connection; in use it is closed whenever nothing is asked.
  void Rest();
  /// How often systemd has done what it was asked for.
  std::uint64_t done() const { return done_; }
  /// Something was begun that is not finished: a question, or an answer nobody took.
  bool asking();
  /// An answer about this unit that nobody took is not needed any more.
  void DropAnswer(const std::string& unit);
  /// The unit is there: the same for an answer to the question to make or start it, not for others.
  void DropAnswerOfMaking(const std::string& unit);
  /// systemd was told other CPUs for this unit and has not answered yet: nobody knows which ones it has.
  bool IsMoving(const std::string& unit) const { return moving_.contains(unit); }

 private:
  struct Question {
    std::string method;
    std::string unit;
    std::vector<Property> properties;
    int pid = 0;
    bool MovesCpus() const;
    friend bool operator==(const Question&, const Question&) = default;
  };
  struct Asked {
    Question question;
    std::optional<Result<bool>> answer;
    os::MonoTime answered_at{};
  };
  using Job = std::function<Result<bool>(Systemd&)>;

  Result<bool> Ask(Question question, Job job);
  void Count(const Result<bool>& answer);
  void DropStale();
  void Answered(Asked& asked, Result<bool> answer);

  std::shared_ptr<Systemd> systemd_;            // also of jobs
  std::optional<event_loop::TaskScope> tasks_;  // from Use to Leave
  std::function<void()> answered_;
  std::map<std::string, std::shared_ptr<Asked>> asked_;  // by unit; of those under way also their jobs' ends
  std::multiset<std::string> moving_;  // units, one for each question under way that changes their CPUs
  std::uint64_t done_ = 0;
  std::size_t jobs_ = 0;
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_SYSTEMD_ASKER_H_
