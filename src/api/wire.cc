#include "api/wire.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "os/unique_fd.h"

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

Error ProbeSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return {Code::kInvalid, 0,
            "socket path '" + path + "' must have 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes"};
  std::ranges::copy(path, address.sun_path);
  const os::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return FailErrno("open a socket", "", errno).error();
  // The socket API takes every address family through this one pointer type.
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return {Code::kInUse, 0, "somebody answers on socket " + path};
  const Error error = FailErrno("connect to", path, errno).error();
  return error;
}

}  // namespace berth::api
