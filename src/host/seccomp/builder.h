// A filter of system calls put together rule by rule, compiled by libseccomp.
#ifndef BERTH_HOST_SECCOMP_BUILDER_H_
#define BERTH_HOST_SECCOMP_BUILDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/identity.h"

namespace berth::seccomp {

/// A condition on one argument of a call; `op` and the values as seccomp_rule_add(3) has them.
struct ArgumentTest {
  unsigned index = 0;  ///< 0 to 5
  int op = 0;
  std::uint64_t value = 0;
  std::uint64_t second = 0;
};

/// One architecture is there from the start: that of this program. Calls of others end the caller.
class Builder {
 public:
  /// What becomes of calls without a rule; actions are libseccomp's.
  static Result<Builder> Make(std::uint32_t default_action);
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;
  ~Builder();

  /// `token`: libseccomp's for an architecture. There already: success.
  Result<void> AddArchitecture(std::uint32_t token);
  /// For calls for which all `tests` hold, on each architecture that has the call; on names nobody knows nothing
  /// happens.
  Result<void> AddRule(std::uint32_t action, const std::string& call, const std::vector<ArgumentTest>& tests);
  /// As the kernel takes it. Errors: kInvalid when it is longer than the kernel allows.
  Result<os::SeccompProgram> Compile();

 private:
  struct Context;
  explicit Builder(std::unique_ptr<Context> context);
  std::unique_ptr<Context> context_;
  std::uint32_t default_action_ = 0;
};

/// Names of all calls that libseccomp knows of an architecture, in the order of their numbers.
std::vector<std::string> KnownCalls(std::uint32_t architecture);
/// The greatest number among them.
std::uint32_t LastKnownCall(std::uint32_t architecture);

}  // namespace berth::seccomp

#endif  // BERTH_HOST_SECCOMP_BUILDER_H_
