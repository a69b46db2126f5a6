// Errors as values: what was being done, to which path, and errno.
//
// Four kinds of "no" are never mixed: an error (Result), an answer no (model/decision.h, Reject), nothing there
// (std::optional) and a bug of ours (BERTH_CHECK). Text from kernel, disk, peer or user never reaches BERTH_CHECK.
#ifndef BERTH_BASE_RESULT_H_
#define BERTH_BASE_RESULT_H_

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

/// What a caller may branch on. Messages are for people only.
enum class Code {
  kNotFound,     ///< the thing named does not exist (ENOENT, ESRCH, unknown pod)
  kInvalid,      ///< the input is wrong; the message names file, field and cure
  kExhausted,    ///< not enough of something (CPUs, disk space)
  kCorrupt,      ///< stored bytes fail their checksum or grammar
  kBusy,         ///< somebody else holds it (EBUSY, a lock); may be retried
  kUnsupported,  ///< this kernel, host or version cannot do it
  kPermission,   ///< EPERM, EACCES, EROFS
  kIo,           ///< any other failed system call
  kInternal,     ///< should not happen; still no reason to abort
};

/// Name of `code` as used in JSON ("not-found", "invalid", ...).
std::string_view Name(Code code);

struct Error {
  Code code = Code::kInternal;
  int sys = 0;          ///< errno as the kernel gave it, 0 if none
  std::string message;  ///< one sentence without final full stop; each layer prepends what it was doing

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

/// The Code that stands for an errno (ENOENT -> kNotFound, EBUSY -> kBusy, ...); kIo if none fits.
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
