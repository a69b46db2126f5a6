#include "api/codec/shallow_json.h"

#include <bitset>
#include <cstddef>

#include "api/codec/codec.h"
#include "base/text.h"

namespace berth::codec {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void SkipBlanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) ++at_;
  }
  bool AtEnd() const { return at_ == text_.size(); }
  /// Takes `c` if it is the next character.
  bool Take(char c) {
    SkipBlanks();
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// With its quotes.
  Result<std::string_view> String() {
    SkipBlanks();
    const std::size_t begin = at_;
    if (AtEnd() || text_[at_] != '"') return Wrong("a string is missing");
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        return text_.substr(begin, ++at_ - begin);
      }
    }
    at_ = text_.size();  // an escape at the end leads beyond it
    return Wrong("a string has no end");
  }
  Result<std::string_view> Value() {
    SkipBlanks();
    if (AtEnd()) return Wrong("a value is missing");
    if (text_[at_] == '"') return String();
    if (text_[at_] == '{' || text_[at_] == '[') return Nested();
    const std::size_t begin = at_;
    while (at_ < text_.size() && IsOfScalar(text_[at_])) ++at_;
    if (at_ == begin) return Wrong("a value is missing");
    return text_.substr(begin, at_ - begin);
  }
  std::unexpected<Error> Wrong(std::string_view why) const {
    return Fail(Code::kInvalid, "not valid JSON: at byte " + std::to_string(at_) + ": " + std::string(why));
  }

 private:
  static bool IsOfScalar(char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' || c == '.';
  }
  /// An object or an array with all that is in it: brackets in their order, strings skipped.
  Result<std::string_view> Nested() {
    const std::size_t begin = at_;
    std::bitset<kMaxDepth> is_object;
    for (std::size_t depth = 0; at_ < text_.size();) {
      const char c = text_[at_];
      if (c == '"') {
        BERTH_RETURN_IF_ERROR(String());
        continue;
      }
      if (c == '{' || c == '[') {
        if (depth == is_object.size()) return Wrong("more than 256 levels of nesting");
        is_object[depth++] = c == '{';
      } else if (c == '}' || c == ']') {
        if (is_object[--depth] != (c == '}')) return Wrong("a bracket does not fit");
      }
      ++at_;
      if (depth == 0) return text_.substr(begin, at_ - begin);
    }
    return Wrong("a bracket has no end");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// `item` takes one member or item.
Result<void> EachPart(std::string_view text, char open, char close,
                      const std::function<Result<void>(Scanner& scanner)>& item) {
  Scanner scanner(text);
  if (!scanner.Take(open)) return scanner.Wrong(open == '{' ? "an object is missing" : "an array is missing");
  if (!scanner.Take(close)) {
    do {
      BERTH_RETURN_IF_ERROR(item(scanner));
    } while (scanner.Take(','));
    if (!scanner.Take(close)) return scanner.Wrong("a comma or a bracket is missing");
  }
  scanner.SkipBlanks();
  if (!scanner.AtEnd()) return scanner.Wrong("there is something behind the value");
  return {};
}

}  // namespace

Result<void> EachMember(std::string_view text,
                        const std::function<Result<void>(std::string_view, std::string_view)>& visit) {
  return EachPart(text, '{', '}', [&](Scanner& scanner) -> Result<void> {
    BERTH_TRY(const std::string_view key, scanner.String());
    if (!scanner.Take(':')) return scanner.Wrong("a colon is missing");
    BERTH_TRY(const std::string_view value, scanner.Value());
    return visit(key.substr(1, key.size() - 2), value);
  });
}

Result<void> EachItem(std::string_view text, const std::function<Result<void>(std::string_view)>& visit) {
  return EachPart(text, '[', ']', [&](Scanner& scanner) -> Result<void> {
    BERTH_TRY(const std::string_view value, scanner.Value());
    return visit(value);
  });
}

Result<std::string> StringIn(std::string_view value) {
  if (!value.starts_with('"')) return Fail(Code::kInvalid, "not valid JSON: a string is missing");
  BERTH_TRY(Json json, ParseJson(value, "a string"));
  return std::move(json.get_ref<std::string&>());
}

}  // namespace berth::codec
