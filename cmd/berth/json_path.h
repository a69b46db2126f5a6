// JSONPath templates of `-o jsonpath=TEMPLATE`, in kubectl's dialect: parsing and evaluation.
#ifndef BERTH_CMD_BERTH_JSON_PATH_H_
#define BERTH_CMD_BERTH_JSON_PATH_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/codec/codec.h"
#include "base/result.h"

namespace berth::cli {

inline constexpr std::string_view kJsonPathIs = "jsonpath=";  ///< what a template stands behind, as a format of output

/// A template of text with paths in braces: "{.pods[*].name}", "{range .pods[*]}{.name}{"\n"}{end}". A path alone, from
/// its dot on, may stand without the braces.
///
/// Of a path: .name, ['name'], [3], [-1], [1:3], [*], .*, and [?(@.path == "value")] with == != < <= > >= or without a
/// comparison: whether it is there. "$" and "@" are where the path begins. No "..", no functions.
class JsonPath {
 public:
  /// Errors: kInvalid naming the place, also for a template longer than 4096 bytes.
  static Result<JsonPath> Parse(std::string_view text);
  /// Values that a path finds stand one after the other with a blank between; objects and lists as JSON. What is not
  /// there is nothing. Errors: kExhausted: more than 64 MiB.
  Result<std::string> Apply(const codec::Json& data) const;

  // Of json_path.cc.
  struct Node;
  using Nodes = std::vector<Node>;

 private:
  explicit JsonPath(std::shared_ptr<const Nodes> nodes) : nodes_(std::move(nodes)) {}

  std::shared_ptr<const Nodes> nodes_;
};

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_JSON_PATH_H_
