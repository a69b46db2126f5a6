#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/codec.h"

namespace berth::codec {
namespace {

/// Builds the value from the parser's events. Own builder because the library's drops duplicate keys silently and
/// looks each key up in everything before it.
class Builder {
 public:
  explicit Builder(std::size_t most_values) : room_(most_values) {}
  bool null() { return Add(nullptr) != nullptr; }
  bool boolean(bool v) { return Add(v) != nullptr; }
  bool number_integer(std::int64_t v) { return Add(v) != nullptr; }
  bool number_unsigned(std::uint64_t v) { return Add(v) != nullptr; }
  bool number_float(double v, const std::string&) { return Add(v) != nullptr; }
  bool string(std::string& v) { return Add(std::move(v)) != nullptr; }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return Open(Json::object()); }
  bool start_array(std::size_t) { return Open(Json::array()); }
  bool key(std::string& v) {
    key_ = std::move(v);
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool end_object() {
    const auto& members = open_.back()->get_ref<const Json::object_t&>();
    open_.pop_back();
    std::vector<std::string_view> keys;
    keys.reserve(members.size());
    for (const auto& [key, value] : members) keys.push_back(key);
    std::ranges::sort(keys);
    const auto twice = std::ranges::adjacent_find(keys);
    if (twice != keys.end()) problem_ = "the key \"" + std::string(*twice) + "\" is given twice in one object";
    return problem_.empty();
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) {
    position_ = position;
    const std::string_view text = e.what();
    const std::size_t words = text.find("syntax error");
    problem_ = words == std::string_view::npos ? text.substr(text.find("] ") + 2) : text.substr(words);
    return false;
  }

  Json Take() { return std::move(root_); }
  const std::string& problem() const { return problem_; }
  std::size_t position() const { return position_; }

 private:
  /// nullptr: there are too many.
  Json* Add(Json value) {
    if (room_ == 0) {
      problem_ = "too many values";
      return nullptr;
    }
    --room_;
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      auto& items = parent.get_ref<Json::array_t&>();
      items.push_back(std::move(value));
      return &items.back();
    }
    auto& members = parent.get_ref<Json::object_t&>();
    members.push_back({std::move(key_), std::move(value)});
    return &members.back().second;
  }
  bool Open(Json value) {
    if (open_.size() >= static_cast<std::size_t>(kMaxDepth)) {
      problem_ = "more than " + std::to_string(kMaxDepth) + " levels of nesting";
      return false;
    }
    Json* const added = Add(std::move(value));
    if (added != nullptr) open_.push_back(added);
    return added != nullptr;
  }

  std::size_t room_;  // values that may still come
  Json root_;
  std::vector<Json*> open_;  // a parent's children do not move while the innermost one is being filled
  std::string key_;
  std::string problem_;
  std::size_t position_ = 0;
};

std::string Where(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position == 0 ? 0 : position - 1);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view file, std::size_t most_values) {
  Builder builder(most_values);
  if (Json::sax_parse(text, &builder)) return builder.Take();
  std::string message(file);
  message += ": ";
  if (builder.position() > 0) message += Where(text, builder.position()) + ": ";
  return Fail(Code::kInvalid, message + "not valid JSON: " + builder.problem());
}

std::string FormatJson(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace berth::codec
