#include "berth/selector.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/text.h"

namespace berth::cli {
namespace {

/// Letters, digits, "-", "_", "." and (of keys) "/".
bool IsLabelWord(std::string_view text, bool key) {
  constexpr std::size_t kLongest = 317;  // a prefix of 253, "/" and a name of 63
  if (text.size() > kLongest || (key && text.empty())) return false;
  return std::ranges::all_of(text, [key](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || (key && c == '/');
  });
}

std::unexpected<Error> RefusePart(std::string_view part, const std::string& why) {
  return Fail(Code::kInvalid, "selector '" + Printable(part, 80) + "': " + why);
}

/// At commas outside of parentheses.
std::vector<std::string_view> PartsOf(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') inside = true;
    if (i < text.size() && text[i] == ')') inside = false;
    if (i < text.size() && (text[i] != ',' || inside)) continue;
    out.push_back(Trim(text.substr(start, i - start)));
    start = i + 1;
  }
  return out;
}

}  // namespace

Result<Selector::Part> Selector::ParsePart(std::string_view text) {
  Part out;
  std::string_view key = text;
  if (text.starts_with('!')) {
    key = Trim(text.substr(1));
    out.rule = Rule::kNotThere;
  } else if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    const bool unequal = equals > 0 && text[equals - 1] == '!';
    const bool twice = equals + 1 < text.size() && text[equals + 1] == '=';
    key = Trim(text.substr(0, unequal ? equals - 1 : equals));
    out.rule = unequal ? Rule::kNotIn : Rule::kIn;
    out.values = {std::string(Trim(text.substr(equals + (twice ? 2 : 1))))};
  } else if (const std::size_t open = text.find('('); open != std::string_view::npos) {
    const std::vector<std::string_view> words = SplitWords(text.substr(0, open));
    if (words.size() != 2 || (words[1] != "in" && words[1] != "notin") || !text.ends_with(')'))
      return RefusePart(text, "write KEY in (A,B) or KEY notin (A,B)");
    key = words[0];
    out.rule = words[1] == "in" ? Rule::kIn : Rule::kNotIn;
    for (const std::string_view value : Split(text.substr(open + 1, text.size() - open - 2), ','))
      out.values.emplace_back(Trim(value));
  }
  if (!IsLabelWord(key, true)) return RefusePart(text, "'" + Printable(key, 40) + "' is no name of a label");
  for (const std::string& value : out.values)
    if (!IsLabelWord(value, false)) return RefusePart(text, "'" + Printable(value, 40) + "' is no value of a label");
  out.key = key;
  return out;
}

Result<Selector> Selector::Parse(std::string_view text) {
  Selector out;
  if (Trim(text).empty()) return out;
  for (const std::string_view part : PartsOf(text)) {
    BERTH_TRY(Part parsed, ParsePart(part));
    out.parts_.push_back(std::move(parsed));
  }
  return out;
}

bool Selector::Fits(const std::map<std::string, std::string>& labels) const {
  return std::ranges::all_of(parts_, [&](const Part& part) {
    const auto label = labels.find(part.key);
    const bool there = label != labels.end();
    const bool in = there && std::ranges::find(part.values, label->second) != part.values.end();
    switch (part.rule) {
      case Rule::kIn: return in;
      case Rule::kNotIn: return !in;  // also without the label, as in Kubernetes
      case Rule::kThere: return there;
      case Rule::kNotThere: return !there;
    }
    return false;
  });
}

}  // namespace berth::cli
