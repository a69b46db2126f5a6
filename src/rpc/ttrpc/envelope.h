// ttRPC Request and Response messages: plain values, and their bytes. Pure.
#ifndef BERTH_RPC_TTRPC_ENVELOPE_H_
#define BERTH_RPC_TTRPC_ENVELOPE_H_

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "rpc/grpc/status.h"

namespace berth::ttrpc {

struct Request {
  std::string service;  ///< with its package
  std::string method;
  std::string payload;
  std::optional<std::chrono::nanoseconds> timeout{};  ///< that the caller waits
  friend bool operator==(const Request&, const Request&) = default;
};

/// The message of the answer, or why there is none. An Error becomes a status.
using Reply = std::expected<std::string, grpc::Status>;

std::string Encode(const Request& request);
std::string Encode(const Reply& reply);

/// Unknown fields are passed over, of a field that comes twice the last one counts. Errors: kInvalid: no such message.
Result<Request> DecodeRequest(std::string_view bytes);
/// kOk is never in the status.
Result<Reply> DecodeReply(std::string_view bytes);

}  // namespace berth::ttrpc

#endif  // BERTH_RPC_TTRPC_ENVELOPE_H_
