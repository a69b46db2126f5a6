// One object that tells a cluster of a node: written when the server's is not what it should be.
#ifndef BERTH_KUBERNETES_NODE_PUBLISHER_WRITER_H_
#define BERTH_KUBERNETES_NODE_PUBLISHER_WRITER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/codec/codec.h"
#include "base/loop_thread.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/time_text.h"
#include "kubernetes/kube_client/kube_client.h"
#include "model/kubelet_config.h"
#include "model/node_snapshot.h"

namespace berth::node_publisher {

/// What is published of a node, at one moment. Nothing is null once there is a first one.
struct Moment {
  std::shared_ptr<const NodeSnapshot> node;
  std::shared_ptr<const KubeletConfiguration> config;
};

enum class Kind : std::uint8_t {
  kTopology,  ///< NodeResourceTopology, for the scheduler plug-in NodeResourceTopologyMatch
  kState,     ///< NodeState, for Berth's extender
};
/// As Kubernetes spells it.
std::string_view Name(Kind kind);

struct WriterOptions {
  Kind kind = Kind::kState;
  std::string node;     ///< its name in the cluster
  std::string version;  ///< of this program
};

/// Thread: one at a time, but for GiveUp. Calls wait for the network.
class Writer {
 public:
  using Connect = std::function<Result<std::unique_ptr<kube::Client>>()>;
  /// `connect` is called when a client is needed, again after it failed.
  Writer(WriterOptions options, Connect connect) : options_(std::move(options)), connect_(std::move(connect)) {}

  Kind kind() const { return options_.kind; }
  /// Brings what the server has to what `moment` says; what is as it was written last costs no call. `look`: compares
  /// with what the server has instead, which somebody may have changed or removed. The object belongs to the cluster's
  /// Node of that name, as far as we may see it, and goes with it. True: the server was sent a new one, and has taken
  /// it. Errors: of `connect` and of kube::Client, with the cure; kInvalid: larger than a reader takes. The server may
  /// not have the newest then, and the next call looks.
  Result<bool> Write(const Moment& moment, bool look, WallTime now) BERTH_EXCLUDES(loop_thread);
  /// Thread: any. Ends the call under way and all that would follow.
  void GiveUp() BERTH_EXCLUDES(mutex_);

 private:
  Result<kube::Client*> Connected() BERTH_EXCLUDES(mutex_);
  void LookForOwner(kube::Client& client);
  Result<void> Look(kube::Client& client);
  Result<codec::Json> Make(const Moment& moment) const;

  const WriterOptions options_;
  const Connect connect_;
  bool known_ = false;            // what the server has:
  std::string essence_;           // what counts of it; "": it has none
  std::uint64_t generation_ = 0;  // of that
  std::string owner_;             // the Node's uid; "": not seen
  Mutex mutex_;
  std::unique_ptr<kube::Client> client_ BERTH_GUARDED_BY(mutex_);
  bool given_up_ BERTH_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::node_publisher

#endif  // BERTH_KUBERNETES_NODE_PUBLISHER_WRITER_H_
