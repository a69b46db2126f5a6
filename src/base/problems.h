// Errors found one after the other and told together.
#ifndef BERTH_BASE_PROBLEMS_H_
#define BERTH_BASE_PROBLEMS_H_

#include <optional>
#include <string>
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
  bool empty() const { return !first_; }
  /// A problem each.
  const std::vector<std::string>& lines() const { return lines_; }
  /// One error with code and errno of the first and all messages, one a line; success if there were none.
  Result<void> Done() const;

 private:
  std::optional<Error> first_;
  std::vector<std::string> lines_;
};

}  // namespace berth

#endif  // BERTH_BASE_PROBLEMS_H_
