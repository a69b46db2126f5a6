// The books of a cluster, kept by what its API server tells and asked by several at one time.
#ifndef BERTH_KUBERNETES_SCHEDULER_SERVER_CLUSTER_H_
#define BERTH_KUBERNETES_SCHEDULER_SERVER_CLUSTER_H_

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "kubernetes/kube_client/change.h"
#include "kubernetes/scheduler_extender/books.h"
#include "kubernetes/scheduler_extender/extender_messages.h"
#include "simulator/cluster/fleet.h"

namespace berth::scheduler_server {

/// What is followed.
enum class Kind { kNodeStates, kPods };
inline constexpr std::array kKinds = {Kind::kNodeStates, Kind::kPods};
std::string_view Name(Kind kind);  ///< "nodestates", "pods"

struct ClusterOptions {
  scheduler_extender::BooksOptions books;
  /// When nothing passes, but may soon: how long a call waits for that.
  os::Millis patience{300};
};

struct ClusterFigures {
  scheduler_extender::BooksFigures books;
  std::size_t unreadable_pods = 0;
  std::array<bool, kKinds.size()> trouble = {};  ///< by kind
  bool ready = false;
};

/// Thread: any, for all of it.
class Cluster {
 public:
  /// `clock` outlives it.
  explicit Cluster(ClusterOptions options = {}, cluster::RunAll run_all = {},
                   const os::Clock& clock = os::SystemClock());

  /// What a watch told, in its order; the watches of the two kinds may come from different threads. Returns what is
  /// wrong with objects, a sentence each; the same is not said again until it was another. A state that cannot be read,
  /// or names another node, lets nothing pass there; a pod that cannot be read does not count.
  std::vector<std::string> Take(Kind kind, const std::vector<kube::Change>& changes) BERTH_EXCLUDES(mutex_);
  /// Why the kind cannot be followed at this time; "": it can.
  void SetTrouble(Kind kind, std::string why) BERTH_EXCLUDES(mutex_);

  /// Why nobody can be answered yet: until all of both kinds was there once; "": everybody can.
  std::string WhyNotReady() const BERTH_EXCLUDES(mutex_);
  /// As Books::Filter. Waits for what may change, but not longer than the patience.
  Result<scheduler_extender::Filtered> Filter(const scheduler_extender::Call& call) BERTH_EXCLUDES(mutex_);
  std::vector<int> Prioritize(const scheduler_extender::Call& call) BERTH_EXCLUDES(mutex_);
  ClusterFigures figures() BERTH_EXCLUDES(mutex_);

  /// As Books::Expire for all pods, a few at a time: questions are answered in between. To be called every while.
  void Expire() BERTH_EXCLUDES(mutex_);
  /// From now on nobody waits.
  void Hurry() BERTH_EXCLUDES(mutex_);

 private:
  struct Followed {
    bool known = false;  // all of it was there once
    std::string trouble;
  };
  std::string TakeNodeState(const kube::Change& change) BERTH_EXCLUDES(mutex_);
  std::string TakePod(const kube::Change& change) BERTH_EXCLUDES(mutex_);
  bool IsNews(Kind kind, const kube::ObjectKey& key, const std::string& problem) BERTH_EXCLUDES(mutex_);

  const ClusterOptions options_;
  const os::Clock& clock_;
  mutable Mutex mutex_;
  CondVar changed_;
  scheduler_extender::Books books_ BERTH_GUARDED_BY(mutex_);
  std::array<Followed, kKinds.size()> followed_ BERTH_GUARDED_BY(mutex_);
  std::array<std::map<kube::ObjectKey, std::string>, kKinds.size()> problems_ BERTH_GUARDED_BY(mutex_);
  std::uint64_t changes_ BERTH_GUARDED_BY(mutex_) = 0;
  bool hurry_ BERTH_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::scheduler_server

#endif  // BERTH_KUBERNETES_SCHEDULER_SERVER_CLUSTER_H_
