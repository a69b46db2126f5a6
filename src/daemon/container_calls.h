// Exec in containers and image lists for API callers: calls to the CRI runtime on the caller's thread, for as long as
// they take, beside the loop.
#ifndef BERTH_DAEMON_CONTAINER_CALLS_H_
#define BERTH_DAEMON_CONTAINER_CALLS_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/event_fd.h"
#include "model/operation_results.h"
#include "runtime/cri/cri_client.h"

namespace berth::daemon {

/// Why the API of a host refuses some calls; "": it does not.
struct CallLimits {
  std::string changes{};  ///< of pods
  std::string logs{};
  std::string images{};  ///< where there are no ContainerCalls
  std::string exec{};    ///< likewise
};

// CommandEnd::exit_code where it is not the command's own.
inline constexpr int kEndedLateExit = 124;
inline constexpr int kNotExecutableExit = 126;
inline constexpr int kNotFoundExit = 127;

/// Of the text a runtime gives when it could not start a command: kNotFoundExit, kNotExecutableExit, or 0 when it is no
/// such text. Pure.
int StartExitCode(std::string_view text);

/// Thread: any.
class ContainerCalls {
 public:
  /// Commands at a time; each waits on a thread of the local API.
  static constexpr int kMostCommands = 8;

  /// `socket` of the container runtime. Errors: as eventfd(2).
  static Result<std::unique_ptr<ContainerCalls>> Open(const std::string& socket);

  const std::string& socket() const { return client_.socket(); }

  /// Runs a command in a running container, without standard input, and waits for its end. The runtime kills it after
  /// `limit`, when the other side of the connection `caller_fd` (-1: none) is closed, and when berthd stops. Errors:
  /// kOverloaded (kMostCommands run), kCancelled (the caller is gone, berthd stops), kExhausted (more output than the
  /// runtime passes on), else as cri::Client.
  Result<CommandEnd> Exec(const std::string& id, const std::vector<std::string>& command, std::chrono::seconds limit,
                          int caller_fd);
  Result<std::vector<cri::Image>> Images() const { return client_.Images(); }
  /// Calls under way come back at once (Exec as cri::Client says), as do all that follow.
  void GiveUp() { cancel_.Signal(); }

 private:
  ContainerCalls(const std::string& socket, os::EventFd cancel)
      : cancel_(std::move(cancel)), client_(socket, {}, cancel_.get()) {}

  const os::EventFd cancel_;
  const cri::Client client_;
  std::atomic<int> commands_ = 0;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_CONTAINER_CALLS_H_
