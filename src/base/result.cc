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
    case Code::kInUse: return "in-use";
    case Code::kBusy: return "busy";
    case Code::kConflict: return "conflict";
    case Code::kOverloaded: return "overloaded";
    case Code::kTimeout: return "timeout";
    case Code::kCancelled: return "cancelled";
    case Code::kUncertain: return "uncertain";
    case Code::kUnreachable: return "unreachable";
    case Code::kUnsupported: return "unsupported";
    case Code::kPermission: return "permission";
    case Code::kIo: return "io";
    case Code::kInternal: return "internal";
  }
  return "internal";
}

bool MayBeDone(Code code) { return code == Code::kTimeout || code == Code::kCancelled || code == Code::kUncertain; }

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
    case EADDRINUSE: return Code::kInUse;
    case ETIMEDOUT: return Code::kTimeout;
    case ECANCELED: return Code::kCancelled;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE: return Code::kUncertain;
    case ECONNREFUSED:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH: return Code::kUnreachable;
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
