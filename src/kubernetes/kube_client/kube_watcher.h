// A watch of the objects of a kind: what there is, and every change, on a thread of its own.
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_KUBE_WATCHER_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_KUBE_WATCHER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kubernetes/kube_client/change.h"
#include "kubernetes/kube_client/kube_client.h"
#include "kubernetes/kube_client/pace.h"

namespace berth::kube {

struct WatchOptions {
  Target target;  ///< without a name
  std::string label_selector;
  std::string field_selector;
  bool selective = false;  ///< see Course: for pods of one node and the like
  std::size_t most_changes = 4096;
  std::size_t most_bytes = std::size_t{64} << 20;  ///< of changes that wait to be taken; one that is larger waits alone
  std::uint64_t seed = 0;                          ///< of chance; differs between nodes
  std::chrono::seconds length{300};                ///< of one watch at least; up to twice as long
  PaceOptions pace;
  ClientOptions client;
};

/// Whoever takes the changes sees each object as the server has it, in the end: what is lost on the way (a broken
/// stream, a server without memory of what we saw) is asked for again, and only differences come out of that. When
/// nobody takes changes the stream waits, and with it the server, which may end it.
class Watcher {
 public:
  /// Errors: of Client::Make; kExhausted: no thread is to be had.
  static Result<std::unique_ptr<Watcher>> Start(Access access, WatchOptions options);
  /// Ends the call under way and waits for the thread, which is soon.
  virtual ~Watcher() = default;

  /// Readable when there are changes to take, or the trouble is another one.
  virtual int event_fd() const = 0;
  /// At most `most` changes in their order. Thread: any, one at a time.
  virtual std::vector<Change> Take(std::size_t most = 256) = 0;
  /// Why the server cannot be followed at this time; nullopt when it is, or nothing is known yet. Thread: any.
  virtual std::optional<CallError> Trouble() const = 0;
};

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_KUBE_WATCHER_H_
