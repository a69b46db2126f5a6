// A runtime that has launched a plug-in, made up: its end of the socket.
#ifndef BERTH_RPC_NRI_LAUNCHING_RUNTIME_TEST_H_
#define BERTH_RPC_NRI_LAUNCHING_RUNTIME_TEST_H_

#include <poll.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <string>

#include "host/os/clock.h"
#include "host/os/poll.h"
#include "host/os/unique_fd.h"
#include "rpc/grpc/status.h"
#include "rpc/grpc/transport.h"
#include "rpc/nri/launch.h"
#include "rpc/ttrpc/peer.h"

namespace berth::nri {

class LaunchingRuntime {
 public:
  /// `refusal`: its answer to a plug-in that registers; "": it takes it.
  explicit LaunchingRuntime(std::string refusal = "") : refusal_(std::move(refusal)) {
    int fds[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return;
    launch_.socket = fds[0];  // the plug-in closes it
    ttrpc::Handlers handlers;
    handlers[kRuntime + "RegisterPlugin"] = [this](const auto&, const std::string&) -> ttrpc::Reply {
      if (!refusal_.empty()) return std::unexpected(grpc::Status(grpc::StatusCode::kUnknown, refusal_));
      registered_.set_value();
      return "";
    };
    auto started = ttrpc::Peer::Start(grpc::SocketTransport(os::UniqueFd(fds[1])), "the plug-in", std::move(handlers),
                                      {.lanes = {.answers = 2, .asks = 1}});
    if (started) peer_ = *std::move(started);
  }

  const Launch& launch() const { return launch_; }
  /// Once the plug-in has registered.
  bool TakeIn() {
    return registered_.get_future().wait_for(kLong) == std::future_status::ready && Ask("Configure") &&
           Ask("Synchronize");
  }
  void Break() { peer_->Break("the runtime ends"); }
  /// Waits for the end of the connection.
  bool Left() const { return *os::WaitFor(peer_->ended_fd(), POLLIN, os::SystemClock().Now() + kLong); }
  bool HasLeft() const { return peer_->ended().has_value(); }

 private:
  static constexpr os::Millis kLong{20'000};
  const std::string kRuntime = "nri.pkg.api.v1alpha1.Runtime/";

  bool Ask(const std::string& method) const {
    return peer_->Call("nri.pkg.api.v1alpha1.Plugin", method, "", {.deadline = os::SystemClock().Now() + kLong})
        .has_value();
  }

  std::string refusal_;
  Launch launch_{.name = "berth", .index = "50"};
  std::promise<void> registered_;
  std::unique_ptr<ttrpc::Peer> peer_;  // last: its handlers use all of the above
};

}  // namespace berth::nri

#endif  // BERTH_RPC_NRI_LAUNCHING_RUNTIME_TEST_H_
