#include "rpc/ttrpc/envelope.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ttrpc.pb.h"

namespace berth::ttrpc {
namespace {

namespace pb = ::ttrpc;

}  // namespace

std::string Encode(const Request& request) {
  pb::Request out;
  out.set_service(request.service);
  out.set_method(request.method);
  out.set_payload(request.payload);
  if (request.timeout) out.set_timeout_nano(std::max<std::int64_t>(request.timeout->count(), 1));
  return out.SerializeAsString();
}

std::string Encode(const Reply& reply) {
  pb::Response out;
  if (reply) {
    out.set_payload(*reply);
  } else {
    out.mutable_status()->set_code(static_cast<std::uint64_t>(reply.error().code));
    out.mutable_status()->set_message(reply.error().message);
  }
  return out.SerializeAsString();
}

Result<Request> DecodeRequest(std::string_view bytes) {
  pb::Request read;
  if (!read.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Fail(Code::kInvalid, "the request cannot be read");
  Request out{.service = std::move(*read.mutable_service()),
              .method = std::move(*read.mutable_method()),
              .payload = std::move(*read.mutable_payload())};
  if (read.timeout_nano() > 0) out.timeout = std::chrono::nanoseconds(read.timeout_nano());
  return out;
}

Result<Reply> DecodeReply(std::string_view bytes) {
  pb::Response read;
  if (!read.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Fail(Code::kInvalid, "the answer cannot be read");
  if (read.status().code() == 0) return Reply(std::move(*read.mutable_payload()));
  constexpr std::uint64_t kNoCode = 1000;  // a number that is no code stays none when it becomes an int
  grpc::Status status;
  status.code = grpc::StatusCodeOf(static_cast<int>(std::min(read.status().code(), kNoCode)));
  status.message = std::move(*read.mutable_status()->mutable_message());
  return Reply(std::unexpected(std::move(status)));
}

}  // namespace berth::ttrpc
