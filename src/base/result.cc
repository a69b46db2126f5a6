#include "base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace berth {

std::string_view Name(Code code) {
  switch (code) {
    case Code::kNotFound: return "not-found";
    case Code::kInvalid: return "invalid";
    case Code::kExhausted: return "exhausted";
    case Code::kCorrupt: return "corrupt";
    case Code::kBusy: return "busy";
    case Code::kUnsupported: return "unsupported";
    case Code::kPermission: return "permission";
    case Code::kIo: return "io";
    case Code::kInternal: return "internal";
  }
  return "internal";
}

Code CodeOf(int sys) {
  switch (sys) {
    case ENOENT:
    case ESRCH:
    case ENODEV: return Code::kNotFound;
    case EINVAL:
    case ERANGE:
    case ENAMETOOLONG: return Code::kInvalid;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE: return Code::kExhausted;
    case EBUSY:
    case EAGAIN:
    case ETXTBSY: return Code::kBusy;
    case ENOSYS:
    case EOPNOTSUPP: return Code::kUnsupported;
    case EPERM:
    case EACCES:
    case EROFS: return Code::kPermission;
    default: return Code::kIo;
  }
}

std::unexpected<Error> Fail(Code code, std::string message) {
  return std::unexpected(Error{.code = code, .sys = 0, .message = std::move(message)});
}

std::unexpected<Error> FailErrno(std::string_view doing, std::string_view path, int sys) {
  std::string message(doing);
  if (!path.empty()) message.append(" ").append(path);
  char text[128];
  message.append(": ").append(strerror_r(sys, text, sizeof text));
  return std::unexpected(Error{.code = CodeOf(sys), .sys = sys, .message = std::move(message)});
}

std::unexpected<Error> Wrap(Error error, std::string_view doing) {
  error.message.insert(0, std::string(doing) + ": ");
  return std::unexpected(std::move(error));
}

void CheckFailed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
  std::abort();
}

}  // namespace berth
