// Publishers of a node to its cluster: what is written there, when the node has changed. Design:
// docs/design/publish.md.
#ifndef BERTH_DAEMON_CLUSTER_PUBLISHERS_H_
#define BERTH_DAEMON_CLUSTER_PUBLISHERS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop_thread.h"
#include "config/berth_config.h"
#include "daemon/snapshot_builder.h"
#include "host/event_loop/executor.h"
#include "host/event_loop/loop.h"
#include "kubernetes/node_publisher/publisher.h"
#include "model/node_figures.h"

namespace berth::daemon {

/// Thread: the loop's, but for GiveUp.
class ClusterPublishers {
 public:
  /// For people, about the node.
  using Teller = std::function<void(bool warning, const std::string& reason, const std::string& message)>;

  /// Those that `settings` name, kept by `loop`. Loop and `executor` outlive them. An API server or a kubeconfig that
  /// is not there yet keeps nobody waiting: files are read by the jobs that write.
  ClusterPublishers(const config::PublishSettings& settings, const std::string& node, const std::string& version,
                    event_loop::Loop& loop, event_loop::Executor& executor, const Teller& tell);
  ClusterPublishers(const ClusterPublishers&) = delete;
  ClusterPublishers& operator=(const ClusterPublishers&) = delete;

  /// The node has changed.
  void Publish(const std::shared_ptr<const LoopState>& state) BERTH_REQUIRES(loop_thread);
  /// What an operator should know now, a sentence each.
  std::vector<std::string> Warnings() const BERTH_REQUIRES(loop_thread);
  std::map<std::string, PublishFigures> Figures() const BERTH_REQUIRES(loop_thread);
  /// Thread: any. Calls under way come back at once, and no more are made.
  void GiveUp();

 private:
  std::vector<std::unique_ptr<node_publisher::Publisher>> publishers_;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_CLUSTER_PUBLISHERS_H_
