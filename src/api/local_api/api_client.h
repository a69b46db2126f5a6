// Client of the local API: one call, one answer, over berthd's unix socket. docs/reference/api.md lists the calls.
#ifndef BERTH_API_LOCAL_API_API_CLIENT_H_
#define BERTH_API_LOCAL_API_API_CLIENT_H_

#include <chrono>
#include <string>
#include <string_view>

#include "api/codec/codec.h"
#include "base/result.h"

namespace berth::api {

/// Where berthd listens unless told otherwise.
inline constexpr std::string_view kDefaultSocket = "/run/berth/berth.sock";

/// Calls berthd. `method` is GET, POST or DELETE; `path` is one of docs/reference/api.md and may hold a query whose
/// values went through http::EncodeQuery; `body` is sent with POST only. An answer without a body is an empty object.
/// Errors: what berthd answered, with its code and message; kUnreachable when nobody has that socket, kPermission when
/// the caller may not open it, kUncertain when no answer came, kInvalid when the answer is not JSON. Each says the
/// cure. Thread: any; every call makes its own connection.
Result<codec::Json> Call(const std::string& socket, std::string_view method, const std::string& path,
                         const std::string& body = {}, std::chrono::seconds timeout = std::chrono::seconds(30));

}  // namespace berth::api

#endif  // BERTH_API_LOCAL_API_API_CLIENT_H_
