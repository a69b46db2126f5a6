// Node snapshots for the threads that serve requests: immutable values, built on the loop's thread from the pod
// manager, which nothing else reads for them.
#ifndef BERTH_DAEMON_SNAPSHOT_BUILDER_H_
#define BERTH_DAEMON_SNAPSHOT_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "allocator/engine.h"
#include "base/loop_thread.h"
#include "base/time_text.h"
#include "daemon/pod_manager.h"
#include "model/node_snapshot.h"
#include "model/pod_view.h"
#include "node/cgroup_manager/inspect.h"
#include "telemetry/events/event_log.h"

namespace berth::daemon {

/// What stays the same while berthd runs.
struct DaemonFacts {
  std::string version;
  WallTime started_at{};
  std::string runtime;           ///< "process", "dry-run", or name and version of a container runtime
  std::string runtime_endpoint;  ///< its socket; "": there is none
  std::string pod_folder;
  std::string kubelet_text;           ///< the KubeletConfiguration it was started with; "" for the defaults
  std::vector<std::string> warnings;  ///< found at the start
};

/// The loop's state at one moment. Nothing is null.
struct LoopState {
  std::shared_ptr<const allocator::Node> engine;          ///< what decides on this node; has the machine
  std::shared_ptr<const cgroup_manager::Picture> groups;  ///< Berth's cgroups
  std::shared_ptr<const std::string> storage;             ///< Snapshot::storage of the pod folder
  std::size_t held_bytes = 0;                             ///< Snapshot::held_bytes of the pod folder
  std::shared_ptr<const device_manager::Known> plugins;   ///< what node.devices are of
  allocator::QueueNow queue;                              ///< of node.pods
  NodeSnapshot node;
};

/// Thread: the loop's.
class SnapshotBuilder {
 public:
  /// `manager` and `events` outlive this.
  SnapshotBuilder(const PodManager& manager, const events::EventLog& events, DaemonFacts facts)
      : manager_(manager), node_(manager.node()), events_(events), facts_(std::move(facts)) {}

  /// More of what an operator should know now.
  void AddWarnings(std::function<std::vector<std::string>()> more) { more_warnings_.push_back(std::move(more)); }
  /// What was published to a cluster.
  void set_published(std::function<std::map<std::string, PublishFigures>()> published) {
    published_ = std::move(published);
  }
  /// The state now; null when it is the one of the last call. What is equal to the last one's is shared with it: one
  /// pod's change costs that pod's view, and for each other pod a look at what its view was made of.
  std::shared_ptr<const LoopState> Build() BERTH_REQUIRES(loop_thread);
  /// Pods that were looked at closely so far: what their views are made of was copied.
  std::uint64_t seen() const { return seen_; }

 private:
  DaemonStatus Status() const;
  NodeView Node() const;
  NodeFigures Figures() const;
  /// What a view was made of.
  struct Seen {
    pods::Stage stage;
    std::uint64_t life = 0;  // version of its lifecycle; 0: none
    std::string file;
    std::vector<std::string> groups;  // paths of its containers'
    std::optional<ResizeView> resize;
    pods::Reported reported;
  };
  struct Known {
    PodSnapshot pod;
    Seen seen;
    std::uint64_t decisions = 0;
  };
  std::vector<std::string> GroupsOf(const ManagedPod& managed) const;
  Seen See(const ManagedPod& managed) const;
  bool IsAsSeen(const ManagedPod& managed, const Seen& seen) const;
  bool Refresh(const ManagedPod& managed, bool same_record, Known& known);
  std::vector<PodSnapshot> Pods(const Ledger* ledger_before);
  std::shared_ptr<const allocator::Node> Engine() const;
  std::shared_ptr<const cgroup_manager::Picture> Groups();

  const PodManager& manager_;
  const core::Node& node_;
  const events::EventLog& events_;
  DaemonFacts facts_;
  std::vector<std::function<std::vector<std::string>()>> more_warnings_;
  std::function<std::map<std::string, PublishFigures>()> published_;
  std::shared_ptr<const LoopState> last_;
  std::map<std::string, Known> known_;  // by uid
  std::vector<const Known*> order_;     // by namespace and name
  bool same_groups_ = false;            // as when the last views were looked at
  std::uint64_t seen_ = 0;
  std::uint64_t last_groups_ = 0;
  std::uint64_t last_turn_ = 0;
  std::uint64_t last_event_ = 0;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_SNAPSHOT_BUILDER_H_
