#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <string>

#include "api/codec/codec.h"
#include "base/text.h"

namespace berth::codec {
namespace {

bool IsAlpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Words some YAML version reads as a boolean, null or a float.
bool IsReserved(std::string text) {
  static constexpr std::array<std::string_view, 11> kWords = {"y",    "n",     "yes",  "no",  "on", "off",
                                                              "true", "false", "null", "nan", "inf"};
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  return std::ranges::find(kWords, text) != kWords.end();
}

/// True when every reader takes the bare text for this very string. Deliberately narrow: quotes never hurt.
bool IsPlain(const std::string& text) {
  if (text.empty() || text.back() == ' ' || IsReserved(text)) return false;
  if (!IsAlpha(text.front()) && text.front() != '/' && text.front() != '_') return false;
  return std::ranges::all_of(text, [](char c) {
    return IsAlpha(c) || IsDigit(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == ' ';
  });
}

void EmitString(YAML::Emitter& out, const std::string& text) {
  if (!IsPlain(text)) out << YAML::DoubleQuoted;
  out << text;
}

void Emit(YAML::Emitter& out, const Json& json) {
  switch (json.type()) {
    case Json::value_t::object:
      if (json.empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const auto& [key, value] : json.get_ref<const Json::object_t&>()) {
        out << YAML::Key;
        EmitString(out, key);
        out << YAML::Value;
        Emit(out, value);
      }
      out << YAML::EndMap;
      break;
    case Json::value_t::array:
      if (json.empty()) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const Json& item : json) Emit(out, item);
      out << YAML::EndSeq;
      break;
    case Json::value_t::string: EmitString(out, json.get_ref<const std::string&>()); break;
    case Json::value_t::null: out << YAML::LowerNull << YAML::Null; break;
    default: out << FormatJson(json); break;  // numbers and booleans are written alike in JSON and YAML
  }
}

}  // namespace

std::string ToYaml(const Json& json) {
  YAML::Emitter out;
  Emit(out, json);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace berth::codec
