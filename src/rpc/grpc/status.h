// gRPC status of a call: codes, grpc-message encoding, and the mapping to Berth's error codes.
#ifndef BERTH_RPC_GRPC_STATUS_H_
#define BERTH_RPC_GRPC_STATUS_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::grpc {

/// All seventeen, with their numbers on the wire.
enum class StatusCode {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

/// What a server ends a call with. An Error becomes one, so that a handler can pass it on.
struct Status {
  Status() = default;
  Status(StatusCode code_, std::string message_) : code(code_), message(std::move(message_)) {}
  Status(const Error& error);  // NOLINT(google-explicit-constructor): passing on is the point

  StatusCode code = StatusCode::kOk;
  std::string message;  ///< UTF-8
  friend bool operator==(const Status&, const Status&) = default;
};

/// The code with this number; numbers of no code are kUnknown.
StatusCode StatusCodeOf(int number);

/// What an answer with this code is to its caller. kOk has none: kInternal.
Code CodeOf(StatusCode code);

/// What a caller knows after an error of a call.
enum class Known {
  kNotDone,      ///< the other side did not look at it: it may be sent again
  kAnswered,     ///< the other side said no
  kNobodyKnows,  ///< it may have been done, or be done in a moment
};
/// kUnreachable and kOverloaded: kNotDone. Those of MayBeDone: kNobodyKnows. All others are answers.
Known KnownOf(Code code);

/// Text of grpc-message. Longer than 8 KiB is cut, at a whole character of UTF-8.
std::string EncodePercent(std::string_view text);
/// What is no encoding stays as it is.
std::string DecodePercent(std::string_view text);

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_STATUS_H_
