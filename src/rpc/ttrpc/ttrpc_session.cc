#include "rpc/ttrpc/ttrpc_session.h"

#include <limits>

namespace berth::ttrpc {
namespace {

bool Is(const Message& message, Kind kind) { return message.kind == static_cast<std::uint8_t>(kind); }

}  // namespace

Result<void> Session::Receive(std::string_view bytes) {
  return frames_.Add(bytes, [this](std::uint32_t connection, std::string_view piece) {
    if (connection == lanes_.answers)
      for (Message& message : asked_.Add(piece)) TakeRequest(std::move(message));
    if (connection == lanes_.asks)
      for (Message& message : answered_.Add(piece)) TakeResponse(std::move(message));
  });
}

void Session::Sent(std::size_t bytes) {
  out_sent_ += bytes;
  sent_ += bytes;
  BERTH_CHECK(out_sent_ <= out_.size());
  if (out_sent_ < out_.size()) return;
  out_ = {};
  out_sent_ = 0;
}

void Session::Send(std::uint32_t connection, std::uint32_t stream, Kind kind, std::string_view data) {
  if (out_sent_ > kLongestData) out_.erase(0, std::exchange(out_sent_, 0));
  const std::size_t before = out_.size();
  AppendMessage(out_, connection, stream, kind, data);
  made_ += out_.size() - before;
}

void Session::Break(const std::string& why) {
  broken_ = true;
  open_.clear();
  requests_.clear();
  for (const auto& [id, call] : calls_)
    ended_.push_back({id, std::unexpected(ErrorOf(call, {.code = Code::kUncertain, .sys = 0, .message = why}))});
  calls_.clear();
}

Result<std::uint32_t> Session::Call(const Request& request) {
  const Asked call{.name = request.service + "/" + request.method, .at = made_};
  const auto refuse = [&](Code code, const char* why) {
    return Fail(code, "call " + call.name + " at " + peer_ + ": " + why);
  };
  if (broken_) return refuse(Code::kUnreachable, "the connection is broken");
  if (calls_.size() >= limits_.calls) return refuse(Code::kOverloaded, "too many calls are under way");
  if (next_call_ > std::numeric_limits<std::uint32_t>::max())
    return refuse(Code::kUnreachable, "the connection has had as many calls as there are numbers");
  const std::string data = Encode(request);
  if (data.size() > limits_.message) return refuse(Code::kInvalid, "the request is longer than the limit");
  const auto id = static_cast<std::uint32_t>(next_call_);
  next_call_ += 2;
  Send(lanes_.asks, id, Kind::kRequest, data);
  calls_.emplace(id, call);
  return id;
}

Error Session::ErrorOf(const Asked& call, Error why) const {
  if (call.at >= sent_) why.code = Code::kUnreachable;
  why.message = "call " + call.name + " at " + peer_ + ": " + why.message;
  return why;
}

Error Session::Forget(std::uint32_t call, Error why) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return why;
  Error out = ErrorOf(found->second, std::move(why));
  calls_.erase(found);
  return out;
}

void Session::TakeResponse(Message message) {
  const auto found = calls_.find(message.stream);
  if (found == calls_.end() || !Is(message, Kind::kResponse)) return;
  const auto no_answer = [&](const std::string& why) -> Result<std::string> {
    return std::unexpected(ErrorOf(found->second, {.code = Code::kUncertain, .sys = 0, .message = why}));
  };
  const auto outcome = [&]() -> Result<std::string> {
    if (message.too_long) return no_answer("the answer is longer than the limit");
    auto reply = DecodeReply(message.data);
    if (!reply) return no_answer(reply.error().message);
    if (!*reply) return Fail(grpc::CodeOf(reply->error().code), reply->error().message);
    return **std::move(reply);
  };
  ended_.push_back({message.stream, outcome()});
  calls_.erase(found);
}

void Session::TakeRequest(Message message) {
  if (!Is(message, Kind::kRequest)) return;
  const std::uint32_t stream = message.stream;
  const auto refuse = [&](grpc::StatusCode code, const std::string& why) {
    Send(lanes_.answers, stream, Kind::kResponse, Encode(Reply(std::unexpected(grpc::Status(code, why)))));
  };
  if (stream % 2 == 0 || stream <= last_request_)
    return refuse(grpc::StatusCode::kInvalidArgument, "the number of the call is even, or was used before");
  last_request_ = stream;
  if (message.too_long) return refuse(grpc::StatusCode::kResourceExhausted, "the request is longer than the limit");
  if (open_.size() >= limits_.calls)
    return refuse(grpc::StatusCode::kResourceExhausted, "too many calls are under way");
  auto request = DecodeRequest(message.data);
  if (!request) return refuse(grpc::StatusCode::kInvalidArgument, request.error().message);
  open_.insert(stream);
  requests_.push_back({.stream = stream, .request = *std::move(request)});
}

void Session::Answer(std::uint32_t stream, const Reply& reply) {
  if (open_.erase(stream) == 0) return;
  std::string data = Encode(reply);
  if (data.size() > limits_.message)
    data = Encode(Reply(
        std::unexpected(grpc::Status(grpc::StatusCode::kResourceExhausted, "the answer is longer than the limit"))));
  Send(lanes_.answers, stream, Kind::kResponse, data);
}

}  // namespace berth::ttrpc
