#include "manifest/field_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/duration.h"
#include "base/suggest.h"
#include "base/text.h"

namespace berth::manifest {
namespace {

const Node& EmptyMap() {
  static const Node kEmpty{.kind = Node::Kind::kMap, .text = {}, .keys = {}, .items = {}};
  return kEmpty;
}

/// "Invalid value: 5: expected a string; put it in quotes".
void WrongKind(const Node& node, std::string_view wanted, const Path& path, Report& report) {
  std::string text = "Invalid value: ";
  const bool scalar = node.kind == Node::Kind::kBool || node.kind == Node::Kind::kNumber;
  if (scalar) {
    text += Printable(node.text, 60);
  } else if (node.kind == Node::Kind::kString) {
    text += "\"" + Printable(node.text, 60) + "\"";
  } else {
    text += Describe(node.kind);
  }
  text += ": expected " + std::string(wanted);
  if (scalar && wanted == "a string") text += "; put it in quotes";
  report.Problem(path, std::move(text));
}

/// A number that YAML 1.1 and people may read differently: "010" is 8 to one and 10 to the other.
bool HasLeadingZero(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && IsDigit(text[1]);
}

std::optional<std::int64_t> IntOf(const Node& node) {
  if (node.kind != Node::Kind::kNumber || HasLeadingZero(node.text)) return std::nullopt;
  return ParseDecimal<std::int64_t>(node.text);
}

}  // namespace

std::string Path::ToString() const {
  std::string out = parent == nullptr ? "" : parent->ToString();
  if (index >= 0) return out + "[" + std::to_string(index) + "]";
  if (key.empty() && !entry) return out;
  if (entry) return out + "[" + Printable(key, 80) + "]";
  return out + (out.empty() ? "" : ".") + Printable(key, 80);
}

bool ReadString(const Node& node, const Path& path, Report& report, std::string& out) {
  if (node.kind != Node::Kind::kString) {
    WrongKind(node, "a string", path, report);
    return false;
  }
  out = node.text;
  return true;
}

bool ReadQuantity(const Node& node, const Path& path, Report& report, Quantity& out) {
  if (node.kind == Node::Kind::kNull) {  // as Kubernetes reads it
    out = Quantity();
    return true;
  }
  const bool number = node.kind == Node::Kind::kNumber;
  if (!number && node.kind != Node::Kind::kString) {
    WrongKind(node, "a quantity such as 2, 500m or 1Gi", path, report);
    return false;
  }
  if (number && HasLeadingZero(node.text)) {
    report.Problem(path, "Invalid value: " + Printable(node.text, 60) +
                             ": a number with leading zeros may be read as " + "octal; write it without them");
    return false;
  }
  const Result<Quantity> quantity = Quantity::Parse(node.text);
  if (!quantity) {
    report.Problem(path, "Invalid value: " + quantity.error().message);
    return false;
  }
  out = *quantity;
  return true;
}

Object::Object(const Node& node, const Path& path, Report& report)
    : node_(node.kind == Node::Kind::kMap ? node : EmptyMap()), path_(path), report_(report) {
  if (node.kind != Node::Kind::kMap && node.kind != Node::Kind::kNull) WrongKind(node, "an object", path, report);
}

const Node* Object::Take(std::string_view key) {
  asked_.push_back(key);
  const Node* node = Find(node_, key);
  return node == nullptr || node->kind == Node::Kind::kNull ? nullptr : node;
}

const Node* Object::TakeKind(std::string_view key, Node::Kind kind) {
  const Node* node = Take(key);
  if (node == nullptr || node->kind == kind) return node;
  WrongKind(*node, Describe(kind), PathOf(key), report_);
  return nullptr;
}

void Object::Read(std::string_view key, std::string& out) {
  if (const Node* node = Take(key)) ReadString(*node, PathOf(key), report_, out);
}

void Object::Read(std::string_view key, bool& out) {
  if (const Node* node = TakeKind(key, Node::Kind::kBool)) out = node->text == "true";
}

void Object::Read(std::string_view key, double& out) {
  const Node* node = TakeKind(key, Node::Kind::kNumber);
  if (node == nullptr) return;
  double value = 0;
  const char* end = node->text.data() + node->text.size();
  const auto [ptr, ec] = std::from_chars(node->text.data(), end, value);
  if (ec != std::errc() || ptr != end || !std::isfinite(value)) {
    WrongKind(*node, "a decimal number", PathOf(key), report_);
  } else {
    out = value;
  }
}

void Object::Read(std::string_view key, std::chrono::milliseconds& out) {
  const Node* node = Take(key);
  if (node == nullptr) return;
  const Path path = PathOf(key);
  if (node->kind != Node::Kind::kString) return WrongKind(*node, "a duration such as \"10s\"", path, report_);
  const auto duration = ParseDuration(node->text);
  if (!duration) return report_.Problem(path, "Invalid value: " + duration.error().message);
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(*duration);
  if (whole != *duration)
    return report_.Problem(path, "Invalid value: \"" + Printable(node->text, 60) + "\": finer than a millisecond");
  out = whole;
}

void Object::Read(std::string_view key, std::vector<std::string>& out) {
  if (TakeKind(key, Node::Kind::kList) == nullptr) return;
  out.clear();
  Each(key, [&](const Node& node, const Path& path) { ReadString(node, path, report_, out.emplace_back()); });
}

void Object::Read(std::string_view key, std::map<std::string, std::string>& out) {
  EachEntry(key, [&](const std::string& name, const Node& node, const Path& path) {
    ReadString(node, path, report_, out[name]);
  });
}

void Object::Read(std::string_view key, std::map<std::string, bool>& out) {
  EachEntry(key, [&](const std::string& name, const Node& node, const Path& path) {
    if (node.kind != Node::Kind::kBool) return WrongKind(node, "true or false", path, report_);
    out[name] = node.text == "true";
  });
}

void Object::Read(std::string_view key, ResourceList& out) {
  EachEntry(key, [&](const std::string& name, const Node& node, const Path& path) {
    if (Quantity amount; ReadQuantity(node, path, report_, amount)) out[name] = amount;
  });
}

void Object::Read(std::string_view key, std::vector<std::int64_t>& out) {
  Each(key, [&](const Node& node, const Path& path) {
    const std::optional<std::int64_t> value = IntOf(node);
    if (!value) return WrongKind(node, "a whole number in plain decimal", path, report_);
    out.push_back(*value);
  });
}

void Object::ReadInt(std::string_view key, std::int64_t& out, std::int64_t min, std::int64_t max) {
  const Node* node = Take(key);
  if (node == nullptr) return;
  const std::optional<std::int64_t> value = IntOf(*node);
  if (!value) return WrongKind(*node, "a whole number in plain decimal", PathOf(key), report_);
  if (*value < min || *value > max)
    return report_.Problem(PathOf(key), "Invalid value: " + node->text + ": must be between " + std::to_string(min) +
                                            " and " + std::to_string(max));
  out = *value;
}

void Object::WarnOfFieldsOf(std::string_view owner, std::span<const std::string_view> fields) {
  for (const std::string_view field : fields)
    if (Take(field) != nullptr)
      report_.Warn(PathOf(field), "unknown field, ignored; it is a field of " + std::string(owner));
}

void Object::Finish(std::span<const std::string_view> unused) {
  for (const std::string& key : node_.keys) {
    if (report_.WarnsNoMore()) return;
    if (std::ranges::find(asked_, key) != asked_.end() || std::ranges::find(unused, key) != unused.end()) continue;
    std::vector<std::string_view> known = asked_;
    known.insert(known.end(), unused.begin(), unused.end());
    const std::string_view nearest = Nearest(key, known);
    report_.Warn(PathOf(key), nearest.empty()
                                  ? "unknown field, ignored"
                                  : "unknown field, ignored; did you mean \"" + std::string(nearest) + "\"?");
  }
}

std::string UnsupportedValue(std::string_view value, Words supported) {
  std::string out = "Unsupported value: \"" + Printable(value, 60) + "\": supported values: ";
  bool first = true;
  for (const std::string_view word : supported) {
    out.append(first ? "\"" : ", \"").append(word).append("\"");
    first = false;
  }
  return out;
}

void CheckWord(Object& object, std::string_view key, std::string_view value, Words words) {
  if (value.empty() || std::ranges::find(words, value) != words.end()) return;
  object.report().Problem(object.PathOf(key), UnsupportedValue(value, words));
}

void ReadWord(Object& object, std::string_view key, Words words, std::string& out) {
  object.Read(key, out);
  CheckWord(object, key, out, words);
}

}  // namespace berth::manifest
