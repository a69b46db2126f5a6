// JSON text -> Document. The only file that knows nlohmann-json.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "manifest/document_tree.h"
#include "manifest/tree_builder.h"

namespace berth::manifest {
namespace {

using Json = nlohmann::json;

/// Receives nlohmann-json's events; returning false ends the parse.
class JsonEvents final : public Json::json_sax_t {
 public:
  explicit JsonEvents(Budget* budget) : builder_(budget) {}
  bool null() override { return Scalar(Node::Kind::kNull, ""); }
  bool boolean(bool value) override { return Scalar(Node::Kind::kBool, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return Scalar(Node::Kind::kNumber, std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Scalar(Node::Kind::kNumber, std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return Scalar(Node::Kind::kNumber, text); }
  bool string(string_t& text) override { return Scalar(Node::Kind::kString, std::move(text)); }
  bool binary(binary_t&) override { return false; }  // never part of JSON text
  bool start_object(std::size_t) override { return builder_.BeginMap(), Fine(); }
  bool start_array(std::size_t) override { return builder_.BeginList(), Fine(); }
  bool end_object() override { return builder_.End(), Fine(); }
  bool end_array() override { return builder_.End(), Fine(); }
  bool key(string_t& text) override { return builder_.Key(std::move(text)), Fine(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error_position_ = position;
    return false;
  }

  TreeBuilder& builder() { return builder_; }
  std::size_t error_position() const { return error_position_; }

 private:
  bool Scalar(Node::Kind kind, std::string text) { return builder_.Scalar(kind, std::move(text)), Fine(); }
  bool Fine() const { return builder_.error().empty(); }

  TreeBuilder builder_;
  std::size_t error_position_ = 0;  // bytes read, 0 if the grammar was kept
};

/// "line 3, column 4" of the last of `bytes` bytes read.
std::string Place(std::string_view text, std::size_t bytes, int first_line) {
  const std::string_view before = text.substr(0, bytes == 0 ? 0 : std::min(bytes, text.size() + 1) - 1);
  const auto lines = std::ranges::count(before, '\n');
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  return "line " + std::to_string(lines + first_line) + ", column " + std::to_string(before.size() - start + 1);
}

/// Without what is there: it may be a secret.
std::string_view WhyBroken(std::string_view text, std::size_t bytes) {
  if (bytes == 0 || bytes > text.size()) return "the text ends too early; is a closing bracket or quote missing?";
  return "not valid JSON";
}

Json ToJson(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return nullptr;
    case Node::Kind::kBool: return node.text == "true";
    case Node::Kind::kString: return node.text;
    case Node::Kind::kNumber: {
      Json number = Json::parse(node.text, nullptr, /*allow_exceptions=*/false);
      return number.is_number() ? number : Json(node.text);
    }
    case Node::Kind::kList: {
      Json list = Json::array();
      for (const Node& item : node.items) list.push_back(ToJson(item));
      return list;
    }
    case Node::Kind::kMap: break;
  }
  Json map = Json::object();
  for (std::size_t i = 0; i < node.items.size(); ++i) map[node.keys[i]] = ToJson(node.items[i]);
  return map;
}

}  // namespace

std::string JsonOf(const Node& node) { return ToJson(node).dump(); }

Result<Document> ReadJson(std::string_view text, int first_line, Budget* budget) {
  if (text.size() > kMaxTextBytes) return Fail(Code::kInvalid, "larger than 10 MiB");
  JsonEvents events(budget);
  bool parsed = false;
  try {
    parsed = Json::sax_parse(text.begin(), text.end(), &events);
  } catch (const std::exception& e) {
    return Fail(Code::kInternal, std::string("JSON parser: ") + e.what());
  }
  if (!events.builder().error().empty()) return Fail(Code::kInvalid, events.builder().error());
  if (!parsed) {
    const std::size_t at = events.error_position();
    return Fail(Code::kInvalid, Place(text, at, first_line) + ": " + std::string(WhyBroken(text, at)));
  }
  Document out = events.builder().Take();
  out.number = 1;
  return out;
}

}  // namespace berth::manifest
