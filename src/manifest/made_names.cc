#include "manifest/made_names.h"

#include <string_view>

#include "base/fnv128.h"
#include "base/name_validation.h"

namespace berth::manifest {
namespace {

constexpr std::size_t kMostOfStart = 53;  // with the digits 63, as an API server has it
constexpr std::size_t kDigits = 10;

std::string TextAt(const Node& map, std::string_view key) {
  const Node* node = Find(map, key);
  return node != nullptr && node->kind == Node::Kind::kString ? node->text : "";
}

/// Nobody gave it: null and "" are no name.
bool IsUnset(const Node* node) {
  return node == nullptr || node->kind == Node::Kind::kNull ||
         (node->kind == Node::Kind::kString && node->text.empty());
}

}  // namespace

std::optional<Node> MadeNames::Named(const Node& node, const Path& path, Report& report) {
  const Node* metadata = Find(node, "metadata");
  if (metadata == nullptr || metadata->kind != Node::Kind::kMap) return std::nullopt;
  const Node* given = Find(*metadata, "generateName");
  if (!IsUnset(Find(*metadata, "name")) || IsUnset(given)) return std::nullopt;
  const Path above{.parent = &path, .key = "metadata"};
  const Path where{.parent = &above, .key = "generateName"};
  std::string start;
  if (!ReadString(*given, where, report, start)) return std::nullopt;
  if (start.size() > kMostOfStart) start.resize(kMostOfStart);
  const std::string wrong = CheckSubdomainName(start + "0");
  if (!wrong.empty()) report.Problem(where, wrong);
  const std::string same = TextAt(node, "kind") + "\n" + TextAt(*metadata, "namespace") + "\n" + start;
  const int before = seen_[same]++;
  const std::string digits = Fnv128(std::to_string(before) + "\n" + same + "\n" + origin_).substr(0, kDigits);
  Node out = node;
  for (std::size_t i = 0; i < out.keys.size(); ++i)
    if (out.keys[i] == "metadata")
      SetEntry(out.items[i], "name", StringNode((wrong.empty() ? start : "unnamed-") + digits));
  return out;
}

}  // namespace berth::manifest
