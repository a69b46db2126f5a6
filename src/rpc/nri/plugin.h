// A plug-in of a container runtime by NRI: joins it, answers what it asks through a handler, joins again when one of
// them was away. Design: docs/design/nri.md.
#ifndef BERTH_RPC_NRI_PLUGIN_H_
#define BERTH_RPC_NRI_PLUGIN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/event_fd.h"
#include "host/os/unique_fd.h"
#include "rpc/nri/conversation.h"
#include "rpc/nri/handler.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri {

struct PluginOptions {
  std::string name = "berth";
  std::string index = "50";  ///< two digits: plug-ins are asked in their order
  std::string socket = "/var/run/nri/nri.sock";
  /// A connected socket instead, of a plug-in that the runtime has launched: there is no second one when it ends.
  std::optional<int> launched_socket{};
  /// What to hear of. Each costs the runtime a message.
  std::vector<Event> events = {Event::kRunPod,          Event::kStopPod,        Event::kRemovePod,
                               Event::kCreateContainer, Event::kStartContainer, Event::kPostStartContainer,
                               Event::kUpdateContainer, Event::kStopContainer,  Event::kRemoveContainer,
                               Event::kUpdatePod};
  WhenLate when_late = WhenLate::kLetPass;
  os::Millis longest_answer{2000};  ///< and never more than four fifths of what the runtime waits
  os::Millis joining{15'000};       ///< from the connection until the runtime has taken the plug-in in
  /// Between two tries to join while no socket appears; doubled to 5 s while it fails, where this is less.
  os::Millis between_tries{100};
};

struct PluginStatus {
  bool joined = false;
  std::optional<Runtime> runtime{};  ///< the one it has joined, or did last
  std::uint64_t joins = 0;
  std::uint64_t late_answers = 0;
  std::string last_error;  ///< why it is not joined, or was not before; "": never
  bool over = false;       ///< launched, and its connection has ended
};

/// Thread: any.
class Plugin {
 public:
  /// Joins `options.socket` as soon as somebody listens there. `handler` outlives the plug-in. Errors: kInvalid: name,
  /// index, or no events; kExhausted; as eventfd(2).
  static Result<std::unique_ptr<Plugin>> Start(const PluginOptions& options, Handler& handler);
  /// Leaves the runtime, and waits for a call of the handler that is under way. Containers stay as they are.
  ~Plugin();
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  PluginStatus status() const BERTH_EXCLUDES(mutex_);

 private:
  Plugin(const PluginOptions& options, Handler& handler, os::EventFd stop)
      : options_(options), stop_(std::move(stop)), queue_(handler) {}
  enum class Attempt { kUnreachable, kFailed, kJoined };
  void Run();
  Attempt Attend();
  Result<void> Join(ttrpc::Peer& peer, const Conversation& conversation);
  Result<void> Stay(const ttrpc::Peer& peer, const Conversation& conversation) BERTH_EXCLUDES(mutex_);
  bool Stopping() const;
  void Open(const Conversation& conversation) BERTH_EXCLUDES(mutex_);
  void Close(const std::string& why) BERTH_EXCLUDES(mutex_);
  void NoteError(const std::string& why) BERTH_EXCLUDES(mutex_);

  const PluginOptions options_;
  const os::EventFd stop_;
  HandlerQueue queue_;
  mutable Mutex mutex_;
  PluginStatus status_ BERTH_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace berth::nri

#endif  // BERTH_RPC_NRI_PLUGIN_H_
