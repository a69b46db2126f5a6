// Label selectors as kubectl's -l takes them.
#ifndef BERTH_CMD_BERTH_SELECTOR_H_
#define BERTH_CMD_BERTH_SELECTOR_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::cli {

/// "app=web,tier!=db,env in (a,b),zone notin (x),gpu,!old": all parts have to fit.
class Selector {
 public:
  /// Everything fits "". Errors: kInvalid, naming the part that makes no sense.
  static Result<Selector> Parse(std::string_view text);
  bool Fits(const std::map<std::string, std::string>& labels) const;
  bool empty() const { return parts_.empty(); }

 private:
  enum class Rule { kIn, kNotIn, kThere, kNotThere };
  struct Part {
    std::string key;
    Rule rule = Rule::kThere;
    std::vector<std::string> values;
  };
  static Result<Part> ParsePart(std::string_view text);

  std::vector<Part> parts_;
};

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_SELECTOR_H_
