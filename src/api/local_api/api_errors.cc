#include "api/local_api/api_errors.h"

#include <algorithm>

namespace berth::api {
namespace {

Code CodeNamed(std::string_view name) {
  const auto* it = std::ranges::find_if(kCodes, [&](Code code) { return Name(code) == name; });
  return it == kCodes.end() ? Code::kInternal : *it;
}

std::string TextIn(const codec::Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

}  // namespace

std::string FormatBody(const codec::Json& body) { return codec::FormatJson(body) + "\n"; }

std::string FormatError(const Error& error) {
  return FormatBody({{"error", {{"code", std::string(Name(error.code))}, {"message", error.message}}}});
}

std::optional<Error> ErrorIn(const codec::Json& body) {
  if (!body.is_object()) return std::nullopt;
  const auto it = body.find("error");
  if (it == body.end() || !it->is_object()) return std::nullopt;
  return Error{CodeNamed(TextIn(*it, "code")), 0, TextIn(*it, "message")};
}

int HttpStatusOf(Code code) {
  switch (code) {
    case Code::kInvalid: return 400;
    case Code::kPermission: return 403;
    case Code::kNotFound: return 404;
    case Code::kInUse:
    case Code::kConflict: return 409;
    case Code::kExhausted:
    case Code::kUnsupported: return 422;
    case Code::kOverloaded: return 429;
    case Code::kUncertain:
    case Code::kUnreachable: return 502;
    case Code::kBusy:
    case Code::kCancelled: return 503;
    case Code::kTimeout: return 504;
    case Code::kCorrupt:
    case Code::kIo:
    case Code::kInternal: return 500;
  }
  return 500;
}

}  // namespace berth::api
