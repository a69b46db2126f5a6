// Errors found one after the other and told together.
#ifndef BERTH_BASE_PROBLEMS_H_
#define BERTH_BASE_PROBLEMS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth {

/// Collects the errors of checks that do not need each other's results. A line that was told already is not told again.
class Problems {
 public:
  /// True: `result` is no error.
  template <class T>
  bool Take(const Result<T>& result) {
    if (!result) Add(result.error());
    return result.has_value();
  }
  void Add(const Error& error);
  /// All of `others` but those about a setting that has a problem already.
  void AddUntold(const Problems& others);
  bool empty() const { return !first_; }
  /// A problem each.
  const std::vector<std::string>& lines() const { return lines_; }
  /// One error with code and errno of the first, and all messages with their settings, one a line; success if there
  /// were none.
  Result<void> Done() const;

 private:
  std::optional<Error> first_;
  std::vector<std::string> lines_;
  std::vector<std::string> settings_;  // Error::settings of each line
};

/// kInvalid about a setting, "<path>: <what>". `path`: where it is in its file, as `evictionHard["memory.available"]`;
/// of several settings the first counts for Problems.
[[nodiscard]] std::unexpected<Error> BadSetting(std::string_view path, std::string_view what);

}  // namespace berth

#endif  // BERTH_BASE_PROBLEMS_H_
