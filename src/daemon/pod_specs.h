// A watch of this node's pods at its API server, for who places a kubelet's containers.
#ifndef BERTH_DAEMON_POD_SPECS_H_
#define BERTH_DAEMON_POD_SPECS_H_

#include <functional>
#include <memory>
#include <string>

#include "base/loop_thread.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/loop.h"
#include "host/event_loop/task_scope.h"
#include "host/os/clock.h"
#include "kubernetes/kube_client/access.h"
#include "kubernetes/kube_client/kube_watcher.h"
#include "model/pod.h"

namespace berth::daemon {

struct PodSpecsOptions {
  std::function<Result<kube::Access>()> access;  ///< called on another thread, again until it is there
  std::string node_name;
  kube::PaceOptions pace;
};
/// Who is told. Thread: the loop's.
struct PodSpecsSink {
  std::function<void(const Pod& pod)> set;  ///< with the uid by which this node knows it
  std::function<void(const std::string& name_space, const std::string& name)> gone;
  std::function<void(bool follows)> follows;  ///< all that is there was told, and what changes will be; or no longer
  std::function<void(bool warning, const std::string& reason, const std::string& message)> tell;  ///< for people
};

/// Nobody waits for it: without an API server, or one that refuses, it tries again and again.
///
/// Thread: the loop's only.
class PodSpecs {
 public:
  /// Loop and executor outlive it.
  PodSpecs(event_loop::Loop& loop, event_loop::Executor& executor, PodSpecsOptions options, PodSpecsSink sink);
  PodSpecs(const PodSpecs&) = delete;
  PodSpecs& operator=(const PodSpecs&) = delete;
  ~PodSpecs();

  void Tick(os::MonoTime now) BERTH_REQUIRES(loop_thread);
  os::MonoTime next_due() const BERTH_REQUIRES(loop_thread) { return next_try_; }
  /// What an operator should know now; "": nothing.
  std::string Warning() const BERTH_REQUIRES(loop_thread) { return told_; }

 private:
  void Begin(kube::Access access) BERTH_REQUIRES(loop_thread);
  void Hear() BERTH_REQUIRES(loop_thread);
  void Take(const kube::Change& change) BERTH_REQUIRES(loop_thread);
  void TellState(const std::string& trouble) BERTH_REQUIRES(loop_thread);
  void TryAgain(const std::string& why) BERTH_REQUIRES(loop_thread);

  event_loop::Loop& loop_;
  event_loop::TaskScope tasks_;
  PodSpecsOptions options_;
  PodSpecsSink sink_;
  os::MonoTime next_try_ BERTH_GUARDED_BY(loop_thread){};  // to find out how the server is reached
  bool synced_ BERTH_GUARDED_BY(loop_thread) = false;
  bool follows_ BERTH_GUARDED_BY(loop_thread) = false;
  std::string told_ BERTH_GUARDED_BY(loop_thread);  // why not
  std::unique_ptr<kube::Watcher> watcher_ BERTH_GUARDED_BY(loop_thread);
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_POD_SPECS_H_
