// Publisher of one object that tells a cluster of a node: when to write, when to try again, and what to say about it.
#ifndef BERTH_KUBERNETES_NODE_PUBLISHER_PUBLISHER_H_
#define BERTH_KUBERNETES_NODE_PUBLISHER_PUBLISHER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "base/loop_thread.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/task_scope.h"
#include "host/os/clock.h"
#include "kubernetes/kube_client/pace.h"
#include "kubernetes/node_publisher/writer.h"
#include "model/node_figures.h"

namespace berth::node_publisher {

struct PublisherOptions {
  std::uint64_t seed = 0;    ///< of chance; differs between nodes
  os::Millis settle{2'000};  ///< after the start, until what runs already has been found: that is no change
  os::Millis gather{300};    ///< changes within this time are written together
  os::Millis look{300'000};  ///< how often the server's objects are compared with ours
  kube::PaceOptions unreachable{.first = os::Millis(500), .most = os::Millis(2'000)};  ///< nobody answers
  kube::PaceOptions refused;                                                           ///< somebody does, and it is no
};

/// To the operator: once when it goes wrong, again when it does so in another way, and once when it is right again.
using Tell = std::function<void(bool warning, const std::string& reason, const std::string& message)>;

/// Thread: the loop's, but for GiveUp.
class Publisher {
 public:
  /// `executor` and `clock` outlive this. The writer works in jobs of a queue of its own.
  Publisher(std::unique_ptr<Writer> writer, event_loop::Executor& executor, const os::Clock& clock,
            const PublisherOptions& options, Tell tell);

  /// The newest. Costs little when nothing of it concerns what is published.
  void Changed(Moment now) BERTH_REQUIRES(loop_thread);
  /// When Tick wants to be called; max: not before something changes.
  os::MonoTime next_due() const BERTH_REQUIRES(loop_thread);
  void Tick(os::MonoTime now) BERTH_REQUIRES(loop_thread);

  /// Why the server may not have the newest, as a sentence; "": it has.
  std::string Warning() const BERTH_REQUIRES(loop_thread);
  std::string_view kind() const { return Name(writer_->kind()); }
  const PublishFigures& figures() const BERTH_REQUIRES(loop_thread) { return figures_; }
  /// Thread: any. No job waits for the network any longer.
  void GiveUp() { writer_->GiveUp(); }

 private:
  void Done(const Result<bool>& written) BERTH_REQUIRES(loop_thread);
  void Failed(const Error& error) BERTH_REQUIRES(loop_thread);

  const std::shared_ptr<Writer> writer_;  // jobs have it, too
  event_loop::TaskScope tasks_;
  const os::Clock& clock_;
  const PublisherOptions options_;
  const Tell tell_;
  std::mt19937_64 random_ BERTH_GUARDED_BY(loop_thread);
  kube::Pace unreachable_ BERTH_GUARDED_BY(loop_thread);
  kube::Pace refused_ BERTH_GUARDED_BY(loop_thread);
  Moment newest_ BERTH_GUARDED_BY(loop_thread);
  bool begun_ BERTH_GUARDED_BY(loop_thread) = false;  // there was a job
  bool busy_ BERTH_GUARDED_BY(loop_thread) = false;
  std::optional<os::MonoTime> changed_at_ BERTH_GUARDED_BY(loop_thread);  // the first change that no job has seen
  std::optional<os::MonoTime> again_at_ BERTH_GUARDED_BY(loop_thread);    // there: the last job failed
  os::MonoTime next_look_ BERTH_GUARDED_BY(loop_thread);
  std::optional<Error> problem_ BERTH_GUARDED_BY(loop_thread);  // of the last job
  PublishFigures figures_ BERTH_GUARDED_BY(loop_thread);
};

}  // namespace berth::node_publisher

#endif  // BERTH_KUBERNETES_NODE_PUBLISHER_PUBLISHER_H_
