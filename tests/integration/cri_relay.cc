#include "cri_relay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "rpc/grpc/grpc_client.h"
#include "rpc/grpc/grpc_server.h"

namespace berth::testkit {
namespace {

constexpr std::size_t kIdSize = 64;
constexpr std::uint32_t kMostCalls = 1024;

/// The id a message begins with, as its first field; "": none.
std::string IdIn(std::string_view message) {
  constexpr std::string_view kFieldOfId{"\x0A\x40", 2};  // a text of 64 bytes
  if (!message.starts_with(kFieldOfId) || message.size() < kFieldOfId.size() + kIdSize) return "";
  return std::string(message.substr(kFieldOfId.size(), kIdSize));
}

}  // namespace

struct CriRelay::Inner {
  explicit Inner(const std::string& target) : runtime(grpc::UnixConnector(target), target) {}

  /// A call that is `lost` is over.
  Fate Pass(const RelayedCall& call, Moment moment, grpc::ServerStream& stream) {
    Judge ask;
    {
      const std::lock_guard lock(mutex);
      ask = judge;
    }
    if (!ask) return {};
    const Fate fate = ask(call, moment);
    if (fate.delay.count() > 0) stream.WaitGone(os::SystemClock().Now() + fate.delay);
    if (fate.lost) stream.Abort();
    return fate;
  }

  grpc::Status Serve(grpc::ServerStream& stream) {
    auto request = stream.Read();
    if (!request || !*request) return {grpc::StatusCode::kInvalidArgument, "no request"};
    const RelayedCall call{.method = stream.method().substr(stream.method().rfind('/') + 1),
                           .about = IdIn(**request),
                           .request = **request,
                           .at = os::SystemClock().Now()};
    {
      const std::lock_guard lock(mutex);
      calls.push_back(call);
    }
    const Fate fate = Pass(call, Moment::kAsked, stream);
    if (fate.lost) return {};
    const grpc::Status status = Relay(call, stream, fate.outlives);
    Pass(call, Moment::kAnswered, stream);
    return status;
  }

  /// The answer but for its end, which has to pass. The runtime's call is given up with berthd's, unless it `outlives`
  /// that one.
  grpc::Status Relay(const RelayedCall& call, grpc::ServerStream& stream, bool outlives) {
    const auto gone = stream.gone_fd();
    if (!gone) return gone.error();
    auto asked = runtime.Open(stream.method(), {.deadline = stream.deadline(), .cancel_fd = outlives ? -1 : *gone});
    if (!asked) return asked.error();
    if (const auto sent = asked->Write(call.request); !sent) return sent.error();
    asked->EndWrites();
    for (;;) {
      const auto message = asked->Read();
      if (!message) return message.error();
      if (!*message) return {};
      if (const auto sent = stream.Write(**message); !sent) return sent.error();
    }
  }

  grpc::Client runtime;
  mutable std::mutex mutex;
  Judge judge;
  std::vector<RelayedCall> calls;
  std::unique_ptr<grpc::Server> server;  // its handlers use all of the above
};

CriRelay::CriRelay(const std::string& listen, const std::string& target) : inner_(std::make_unique<Inner>(target)) {
  auto server = grpc::Server::Start(
      {.other = [inner = inner_.get()](grpc::ServerStream& stream) { return inner->Serve(stream); }},
      {.most_calls = kMostCalls, .limits = {.streams = kMostCalls}});
  EXPECT_TRUE(server && (*server)->Listen(listen, 0600)) << listen;
  if (server) inner_->server = *std::move(server);
}

CriRelay::~CriRelay() = default;

void CriRelay::SetJudge(Judge judge) {
  const std::lock_guard lock(inner_->mutex);
  inner_->judge = std::move(judge);
}

std::vector<RelayedCall> CriRelay::Calls() const {
  const std::lock_guard lock(inner_->mutex);
  return inner_->calls;
}

std::size_t CriRelay::Count(std::string_view method) const {
  const std::lock_guard lock(inner_->mutex);
  return static_cast<std::size_t>(std::ranges::count(inner_->calls, method, &RelayedCall::method));
}

}  // namespace berth::testkit
