// Bodies and statuses shared by server and client of the local API.
#ifndef BERTH_API_LOCAL_API_API_ERRORS_H_
#define BERTH_API_LOCAL_API_API_ERRORS_H_

#include <optional>
#include <string>
#include <string_view>

#include "api/codec/codec.h"
#include "base/result.h"

namespace berth::api {

/// {"error":{"code":"not-found","message":"…"}}
std::string FormatError(const Error& error);
/// The error in such a body; nullopt when it holds none.
std::optional<Error> ErrorIn(const codec::Json& body);
/// HTTP status of an error code.
int HttpStatusOf(Code code);
/// JSON as text; bytes that are not UTF-8 become U+FFFD.
std::string FormatBody(const codec::Json& body);

}  // namespace berth::api

#endif  // BERTH_API_LOCAL_API_API_ERRORS_H_
