#include "rpc/grpc/grpc_client.h"

#include <utility>

#include "base/text.h"

namespace berth::grpc {
namespace {

/// Makes what was not done once more, where somebody still waits for it.
template <class Attempt>
auto Twice(const Patience& patience, const Attempt& attempt) {
  auto first = attempt();
  const bool late = patience.deadline && os::SystemClock().Now() >= *patience.deadline;
  if (first || KnownOf(first.error().code) != Known::kNotDone || late || IsUnwanted(patience)) return first;
  return attempt();
}

}  // namespace

Client::Client(Connector connector, std::string peer, const ClientOptions& options)
    : connector_(std::move(connector)), peer_(std::move(peer)), options_(options) {}

Client::~Client() {
  const MutexLock lock(mutex_);
  io_.reset();
  if (connection_) connection_->Break("given up");
}

Error Client::ErrorOf(const std::string& method, Error why) const {
  why.message = "call " + Printable(method) + " at " + peer_ + ": " + why.message;
  return why;
}

/// Errors: kUnreachable; of the connector.
Result<std::shared_ptr<Connection>> Client::Connected() {
  const auto not_sent = [](Error error) {
    error.code = Code::kUnreachable;
    return std::unexpected(std::move(error));
  };
  const MutexLock lock(mutex_);
  if (connection_ && connection_->accepts()) return connection_;
  if (!io_) {
    auto io = Io::Start();
    if (!io) return not_sent(io.error());
    io_ = *std::move(io);
  }
  BERTH_TRY(std::unique_ptr<Transport> transport, connector_());
  auto made =
      Connection::Make(Side::kClient, std::move(transport), options_.limits, options_.keepalive, peer_, io_->wake());
  if (!made) return not_sent(made.error());
  connection_ = *std::move(made);
  io_->Add(connection_);
  return connection_;
}

Result<ClientStream> Client::Begin(const std::string& method, const Patience& patience,
                                   const std::optional<std::string_view>& request) {
  if (IsUnwanted(patience))
    return std::unexpected(
        ErrorOf(method, {.code = Code::kCancelled, .sys = 0, .message = "given up before it was made"}));
  auto connection = Connected();
  if (!connection) return std::unexpected(ErrorOf(method, connection.error()));
  BERTH_TRY(StreamPtr stream, (*connection)->Open(method, patience.deadline, request, request.has_value()));
  return ClientStream(*std::move(connection), std::move(stream), patience);
}

Result<std::string> Client::CallOnce(const std::string& method, std::string_view request, const Patience& patience) {
  BERTH_TRY(ClientStream call, Begin(method, patience, request));
  std::optional<std::string> answer;
  for (;;) {
    BERTH_TRY(std::optional<std::string> message, call.Read());
    if (!message) break;
    if (answer) return Fail(Code::kInternal, "call " + method + ": the answer has more than one message");
    answer = std::move(message);
  }
  if (!answer) return Fail(Code::kInternal, "call " + method + ": the answer has no message");
  return *std::move(answer);
}

Result<std::string> Client::Call(const std::string& method, std::string_view request, const Patience& patience) {
  if (request.size() > options_.limits.message)
    return std::unexpected(
        ErrorOf(method, {.code = Code::kInvalid, .sys = 0, .message = "the request is longer than the limit"}));
  return Twice(patience, [&] { return CallOnce(method, request, patience); });
}

Result<ClientStream> Client::Open(const std::string& method, const Patience& patience) {
  return Twice(patience, [&] { return Begin(method, patience, std::nullopt); });
}

}  // namespace berth::grpc
