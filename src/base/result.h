// Errors as values: what was being done, to which path, and errno.
//
// Four kinds of "no" are never mixed: an error (Result), an answer no (model/decision.h, Reject), nothing there
// (std::optional) and a bug of ours (BERTH_CHECK). Text from kernel, disk, peer or user never reaches BERTH_CHECK.
#ifndef BERTH_BASE_RESULT_H_
#define BERTH_BASE_RESULT_H_

#include <array>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

/// What a caller may branch on. Messages are for people only.
enum class Code {
  kNotFound,     ///< the thing named does not exist (ENOENT, ESRCH, unknown pod)
  kInvalid,      ///< the input is wrong; the message names file, field and cure
  kExhausted,    ///< not enough of something (CPUs, disk space)
  kCorrupt,      ///< stored bytes fail their checksum or grammar
  kInUse,        ///< another process holds it (a lock, a socket, a directory): berthd's exit status 3
  kBusy,         ///< the kernel still works with it (EBUSY, processes remain): the same call may succeed later
  kConflict,     ///< what is there does not allow it (a container that runs cannot be forgotten); change that first
  kOverloaded,   ///< too many at once; nothing was done; try later
  kTimeout,      ///< the deadline passed without an answer: nobody knows whether it was done
  kCancelled,    ///< given up by who asked, or because berthd stops: likewise
  kUncertain,    ///< it was sent, and the answer was lost or makes no sense: likewise
  kUnreachable,  ///< nobody answers there; nothing was sent
  kUnsupported,  ///< this kernel, host or version cannot do it
  kPermission,   ///< EPERM, EACCES, EROFS
  kIo,           ///< any other failed system call
  kInternal,     ///< should not happen; still no reason to abort
};

/// All codes, in their order. docs/reference/errors.md has the same list with what each means to a caller.
inline constexpr std::array kCodes = {Code::kNotFound,    Code::kInvalid,    Code::kExhausted, Code::kCorrupt,
                                      Code::kInUse,       Code::kBusy,       Code::kConflict,  Code::kOverloaded,
                                      Code::kTimeout,     Code::kCancelled,  Code::kUncertain, Code::kUnreachable,
                                      Code::kUnsupported, Code::kPermission, Code::kIo,        Code::kInternal};
static_assert(kCodes.size() == static_cast<std::size_t>(Code::kInternal) + 1);

/// Name of `code` as used in JSON ("not-found", "invalid", ...).
std::string_view Name(Code code);

/// True for kTimeout, kCancelled and kUncertain: the request may have been carried out, now or in a moment.
bool MayBeDone(Code code);

struct Error {
  Code code = Code::kInternal;
  int sys = 0;          ///< errno as the kernel gave it, 0 if none
  std::string message;  ///< one sentence without final full stop; each layer prepends what it was doing
  /// Of an error about settings: the field of a settings file that each line of `message` is about, "" for none. May be
  /// shorter than there are lines.
  std::vector<std::string> settings{};

  friend bool operator==(const Error&, const Error&) = default;
};

/// A value or an Error. Dropping one is a compile error (unlike libstdc++'s std::expected).
template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
  using Base = std::expected<T, Error>;

 public:
  using Base::Base;
};

/// An error without errno.
[[nodiscard]] std::unexpected<Error> Fail(Code code, std::string message);

/// An error from a failed system call: code derived from `sys`, message "<doing> <path>: <strerror>".
/// `path` may be empty.
[[nodiscard]] std::unexpected<Error> FailErrno(std::string_view doing, std::string_view path, int sys);

/// Passes `error` on with "<doing>: " before its message; code and errno are kept.
[[nodiscard]] std::unexpected<Error> Wrap(Error error, std::string_view doing);

/// The Code that stands for an errno (ENOENT -> kNotFound, ECONNREFUSED -> kUnreachable, ...); kIo if none fits.
Code CodeOf(int sys);

/// Prints "file:line: check failed: <what>" to stderr and aborts. For our own bugs only.
[[noreturn]] void CheckFailed(const char* file, int line, const char* what);

}  // namespace berth

#define BERTH_CHECK(cond)                                         \
  do {                                                            \
    if (!(cond)) ::berth::CheckFailed(__FILE__, __LINE__, #cond); \
  } while (false)

/// BERTH_TRY(auto x, Expr()): binds the value of a Result or returns its error from this function.
#define BERTH_TRY(decl, expr) BERTH_TRY_IMPL_(decl, expr, BERTH_CONCAT_(berth_result_, __LINE__))
/// BERTH_RETURN_IF_ERROR(Expr()): returns the error of a Result<void> from this function.
#define BERTH_RETURN_IF_ERROR(expr)                                                             \
  do {                                                                                          \
    if (auto berth_r_ = (expr); !berth_r_) return std::unexpected(std::move(berth_r_).error()); \
  } while (false)
#define BERTH_CONCAT_(a, b) BERTH_CONCAT2_(a, b)
#define BERTH_CONCAT2_(a, b) a##b
#define BERTH_TRY_IMPL_(decl, expr, tmp)                    \
  auto tmp = (expr);                                        \
  if (!tmp) return std::unexpected(std::move(tmp).error()); \
  decl = *std::move(tmp)

#endif  // BERTH_BASE_RESULT_H_
