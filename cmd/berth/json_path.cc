#include "berth/json_path.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "base/text.h"

namespace berth::cli {
namespace {

using codec::Json;

constexpr std::size_t kLongestTemplate = 4096;
constexpr std::size_t kMostFound = 64 << 20;
constexpr int kDeepest = 16;  // ranges and filters within each other

enum class PathCompare { kThere, kEqual, kUnequal, kLess, kLessEqual, kMore, kMoreEqual };

struct PathFilter;
struct PathSlice {
  std::optional<std::int64_t> from;
  std::optional<std::int64_t> to;
};
struct PathAll {};
/// One step down.
using PathStep = std::variant<std::string, std::int64_t, PathSlice, PathAll, std::shared_ptr<const PathFilter>>;
using StepPath = std::vector<PathStep>;

struct PathFilter {
  StepPath path;
  PathCompare compare = PathCompare::kThere;
  Json value;
};

}  // namespace

/// Text, a path, or a range with what it repeats.
struct JsonPath::Node {
  enum class Kind { kText, kPath, kRange };
  Kind kind = Kind::kText;
  std::string text;
  StepPath path;
  Nodes inner;
};

namespace {

using PathNode = JsonPath::Node;
using PathNodes = JsonPath::Nodes;

class TemplateReader {
 public:
  explicit TemplateReader(std::string_view text) : text_(text) {}

  Result<PathNodes> Read() {
    if (text_.starts_with('.') || text_.starts_with('$')) {
      BERTH_TRY(StepPath path, ReadPath());
      if (at_ < text_.size()) return Refuse("expected the end of the path");
      return PathNodes{{.kind = PathNode::Kind::kPath, .text = {}, .path = std::move(path), .inner = {}}};
    }
    BERTH_TRY(PathNodes out, ReadNodes(0));
    return out;
  }

 private:
  std::unexpected<Error> Refuse(const std::string& why) const {
    return Fail(Code::kInvalid, "jsonpath, character " + std::to_string(at_ + 1) + ": " + why);
  }
  bool Take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void SkipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  /// Up to the end, or to {end} in a range.
  Result<PathNodes> ReadNodes(int depth) {
    if (depth > kDeepest) return Refuse("too many ranges within each other");
    PathNodes out;
    while (at_ < text_.size()) {
      if (text_[at_] != '{') {
        const std::size_t end = std::min(text_.find('{', at_), text_.size());
        out.push_back({.kind = PathNode::Kind::kText,
                       .text = std::string(text_.substr(at_, end - at_)),
                       .path = {},
                       .inner = {}});
        at_ = end;
        continue;
      }
      ++at_;
      SkipBlanks();
      if (Take("end")) {
        if (depth == 0) return Refuse("an {end} without a {range}");
        BERTH_RETURN_IF_ERROR(Close());
        return out;
      }
      BERTH_TRY(PathNode node, ReadBraces(depth));
      out.push_back(std::move(node));
    }
    if (depth > 0) return Refuse("a {range} without its {end}");
    return out;
  }

  Result<void> Close() {
    SkipBlanks();
    if (!Take("}")) return Refuse("expected }");
    return {};
  }

  Result<PathNode> ReadBraces(int depth) {
    PathNode out;
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      BERTH_TRY(out.text, ReadQuoted());
      BERTH_RETURN_IF_ERROR(Close());
      return out;
    }
    const bool range = Take("range ");
    SkipBlanks();
    out.kind = range ? PathNode::Kind::kRange : PathNode::Kind::kPath;
    BERTH_TRY(out.path, ReadPath());
    BERTH_RETURN_IF_ERROR(Close());
    if (range) {
      BERTH_TRY(out.inner, ReadNodes(depth + 1));
    }
    return out;
  }

  /// "text" or 'text', with \n, \t and the like.
  Result<std::string> ReadQuoted() {
    const char quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'n') c = '\n';
        if (c == 't') c = '\t';
        if (c == 'r') c = '\r';
      }
      out += c;
    }
    if (at_ == text_.size()) return Refuse("a text without its end");
    ++at_;
    return out;
  }

  static bool IsNameCharacter(char c) { return !std::string_view(".[]{}()?@$*=!<> '\",:|&").contains(c); }

  Result<StepPath> ReadPath() {
    StepPath out;
    if (!Take("$")) Take("@");
    while (at_ < text_.size()) {
      if (Take("..")) return Refuse(".. is not known here");
      if (Take(".*")) {
        out.emplace_back(PathAll{});
      } else if (Take(".")) {
        const std::size_t start = at_;
        while (at_ < text_.size() && (IsNameCharacter(text_[at_]) || text_[at_] == '\\'))
          at_ += text_[at_] == '\\' ? 2 : 1;
        at_ = std::min(at_, text_.size());
        std::string name(text_.substr(start, at_ - start));
        std::erase(name, '\\');  // "\." is a dot of the name
        if (!name.empty())
          out.emplace_back(std::move(name));
        else if (at_ < text_.size() && text_[at_] != '[' && text_[at_] != '}')
          return Refuse("expected a name");
      } else if (Take("[")) {
        BERTH_TRY(PathStep step, ReadBrackets());
        out.push_back(std::move(step));
        SkipBlanks();
        if (!Take("]")) return Refuse("expected ]");
      } else {
        break;
      }
    }
    return out;
  }

  std::optional<std::int64_t> ReadNumber() {
    std::int64_t out = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (error != std::errc()) return std::nullopt;
    at_ += static_cast<std::size_t>(end - begin);
    return out;
  }

  Result<PathStep> ReadBrackets() {
    SkipBlanks();
    if (Take("*")) return PathStep(PathAll{});
    if (Take("?(")) return ReadFilter();
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      BERTH_TRY(std::string name, ReadQuoted());
      return PathStep(std::move(name));
    }
    const auto first = ReadNumber();
    if (!Take(":")) {
      if (!first) return Refuse("expected a number, *, 'name' or ?(...)");
      return PathStep(*first);
    }
    return PathStep(PathSlice{.from = first, .to = ReadNumber()});
  }

  Result<PathStep> ReadFilter() {
    if (++filters_ > kDeepest) return Refuse("too many filters");
    PathFilter out;
    SkipBlanks();
    if (at_ >= text_.size() || text_[at_] != '@') return Refuse("expected @.path in a filter");
    BERTH_TRY(out.path, ReadPath());
    SkipBlanks();
    constexpr std::array<std::pair<std::string_view, PathCompare>, 6> kOperators = {{{"==", PathCompare::kEqual},
                                                                                     {"!=", PathCompare::kUnequal},
                                                                                     {"<=", PathCompare::kLessEqual},
                                                                                     {">=", PathCompare::kMoreEqual},
                                                                                     {"<", PathCompare::kLess},
                                                                                     {">", PathCompare::kMore}}};
    for (const auto& [word, compare] : kOperators) {
      if (!Take(word)) continue;
      out.compare = compare;
      SkipBlanks();
      BERTH_TRY(out.value, ReadValue());
      break;
    }
    SkipBlanks();
    if (!Take(")")) return Refuse("expected ) after the filter");
    return PathStep(std::make_shared<const PathFilter>(std::move(out)));
  }

  Result<Json> ReadValue() {
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      BERTH_TRY(std::string text, ReadQuoted());
      return Json(std::move(text));
    }
    if (Take("true")) return Json(true);
    if (Take("false")) return Json(false);
    if (const auto number = ReadNumber()) return Json(*number);
    return Refuse("expected a number, true, false or a text in quotes");
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int filters_ = 0;
};

using FoundValues = std::vector<const Json*>;

FoundValues FollowPath(const Json& from, const StepPath& path);

template <class T>
bool FitsValue(PathCompare compare, const T& a, const T& b) {
  switch (compare) {
    case PathCompare::kThere: return true;
    case PathCompare::kEqual: return a == b;
    case PathCompare::kUnequal: return a != b;
    case PathCompare::kLess: return a < b;
    case PathCompare::kLessEqual: return a <= b;
    case PathCompare::kMore: return a > b;
    case PathCompare::kMoreEqual: return a >= b;
  }
  return false;
}

bool Passes(const Json& item, const PathFilter& filter) {
  const FoundValues found = FollowPath(item, filter.path);
  if (filter.compare == PathCompare::kThere) return !found.empty();
  return std::ranges::any_of(found, [&](const Json* value) {
    if (value->is_number() && filter.value.is_number())
      return FitsValue(filter.compare, value->get<double>(), filter.value.get<double>());
    if (value->is_string() && filter.value.is_string())
      return FitsValue(filter.compare, value->get_ref<const std::string&>(),
                       filter.value.get_ref<const std::string&>());
    if (value->is_boolean() && filter.value.is_boolean())
      return FitsValue(filter.compare, value->get<bool>(), filter.value.get<bool>());
    return filter.compare == PathCompare::kUnequal;
  });
}

/// A place counted from the end when it is negative.
std::int64_t PlaceIn(const Json& list, std::int64_t index) {
  return index < 0 ? index + static_cast<std::int64_t>(list.size()) : index;
}

void AddSlice(const Json& from, const PathSlice& slice, FoundValues& out) {
  if (!from.is_array()) return;
  const std::int64_t begin = std::max<std::int64_t>(0, PlaceIn(from, slice.from.value_or(0)));
  const std::int64_t size = static_cast<std::int64_t>(from.size());
  const std::int64_t end = slice.to ? std::min(size, PlaceIn(from, *slice.to)) : size;
  for (std::int64_t i = begin; i < end; ++i) out.push_back(&from[static_cast<std::size_t>(i)]);
}

void TakePathStep(const Json& from, const PathStep& step, FoundValues& out) {
  if (const auto* name = std::get_if<std::string>(&step)) {
    if (!from.is_object()) return;
    if (const auto it = from.find(*name); it != from.end()) out.push_back(&*it);
  } else if (const auto* index = std::get_if<std::int64_t>(&step)) {
    const std::int64_t place = PlaceIn(from, *index);
    if (from.is_array() && place >= 0 && place < static_cast<std::int64_t>(from.size()))
      out.push_back(&from[static_cast<std::size_t>(place)]);
  } else if (const auto* slice = std::get_if<PathSlice>(&step)) {
    AddSlice(from, *slice, out);
  } else if (from.is_structured()) {
    const auto* filter = std::get_if<std::shared_ptr<const PathFilter>>(&step);
    for (const Json& item : from)
      if (filter == nullptr || Passes(item, **filter)) out.push_back(&item);
  }
}

FoundValues FollowPath(const Json& from, const StepPath& path) {
  FoundValues found = {&from};
  for (const PathStep& step : path) {
    FoundValues next;
    for (const Json* item : found) TakePathStep(*item, step, next);
    found = std::move(next);
  }
  return found;
}

Result<void> PrintNodes(const PathNodes& nodes, const Json& data, std::string& out) {
  for (const PathNode& node : nodes) {
    if (node.kind == PathNode::Kind::kText) out += node.text;
    const FoundValues found = node.kind == PathNode::Kind::kText ? FoundValues() : FollowPath(data, node.path);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (node.kind == PathNode::Kind::kRange) {
        BERTH_RETURN_IF_ERROR(PrintNodes(node.inner, *found[i], out));
        continue;
      }
      if (i > 0) out += ' ';
      out += found[i]->is_string() ? found[i]->get_ref<const std::string&>() : codec::FormatJson(*found[i]);
    }
    if (out.size() > kMostFound) return Fail(Code::kExhausted, "jsonpath: more than 64 MiB come of it");
  }
  return {};
}

}  // namespace

Result<JsonPath> JsonPath::Parse(std::string_view text) {
  if (text.size() > kLongestTemplate) return Fail(Code::kInvalid, "jsonpath: a template has at most 4096 bytes");
  if (text.empty()) return Fail(Code::kInvalid, "jsonpath: give a template: jsonpath='{.pods[*].name}'");
  BERTH_TRY(PathNodes nodes, TemplateReader(text).Read());
  return JsonPath(std::make_shared<const PathNodes>(std::move(nodes)));
}

Result<std::string> JsonPath::Apply(const Json& data) const {
  std::string out;
  BERTH_RETURN_IF_ERROR(PrintNodes(*nodes_, data, out));
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

}  // namespace berth::cli
