#include "berth/session.h"

#include "api/client.h"
#include "api/wire.h"

namespace berth::cli {

OutputFormat Session::format() const {
  if (options_.output == "json") return OutputFormat::kJson;
  if (options_.output == "yaml") return OutputFormat::kYaml;
  return options_.output == "wide" ? OutputFormat::kWide : OutputFormat::kTable;
}

bool Session::color() const {
  if (options_.color == "auto") return around_.terminal && !around_.no_color;
  return options_.color == "always";
}

Result<codec::Json> Session::Call(std::string_view method, const std::string& path, const std::string& body,
                                  std::chrono::seconds timeout) const {
  return api::Call(options_.socket, method, path, body, timeout);
}

int Session::PrintData(const codec::Json& data) const {
  if (format() == OutputFormat::kYaml)
    out_ << codec::ToYaml(data);
  else
    out_ << codec::FormatJson(data, 2) << '\n';
  return kOk;
}

bool Session::Reachable() const { return api::ProbeSocket(options_.socket).code == Code::kInUse; }

int Session::Report(const Error& error) const {
  err_ << "berth: " << error.message << '\n';
  return Reachable() ? kFailed : kUnreachable;
}

const codec::Json& Member(const codec::Json& object, const char* key) {
  static const codec::Json null;
  if (!object.is_object()) return null;
  const auto it = object.find(key);
  return it == object.end() ? null : *it;
}

std::string Text(const codec::Json& object, const char* key) {
  const codec::Json& member = Member(object, key);
  return member.is_string() ? member.get<std::string>() : std::string();
}

std::int64_t Number(const codec::Json& object, const char* key) {
  const codec::Json& member = Member(object, key);
  return member.is_number_integer() ? member.get<std::int64_t>() : 0;
}

bool Flag(const codec::Json& object, const char* key) {
  const codec::Json& member = Member(object, key);
  return member.is_boolean() && member.get<bool>();
}

}  // namespace berth::cli
