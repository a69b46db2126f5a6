#include "config/local_device_reader.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/name_validation.h"
#include "base/text.h"

namespace berth::config {
namespace {

using manifest::Node;
using manifest::Object;
using manifest::Path;

constexpr std::string_view kHexDigits = "0123456789abcdef";

/// Lower case, without "0x".
std::string HexOf(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text.starts_with("0x") ? text.substr(2) : text;
}

std::string ReadHexText(Object& object, std::string_view key, std::size_t most) {
  std::string text;
  object.Read(key, text);
  std::string out = HexOf(text);
  if (text.empty() || (!out.empty() && out.size() <= most && out.find_first_not_of(kHexDigits) == std::string::npos))
    return out;
  object.report().Problem(object.PathOf(key),
                          InvalidValue(Printable(text, 40), "must be up to " + std::to_string(most) +
                                                                " hexadecimal digits in quotes, as lspci -n shows"));
  return "";
}

void ReadId(Object& object, std::string_view key, std::optional<std::uint16_t>& out) {
  constexpr std::size_t kDigits = 4;
  const std::string text = ReadHexText(object, key, kDigits);
  if (text.empty()) return;
  std::uint16_t value = 0;
  constexpr int kHexBase = 16;
  std::from_chars(text.data(), text.data() + text.size(), value, kHexBase);
  out = value;
}

PciMatch ReadMatch(Object& object) {
  constexpr std::size_t kClassDigits = 6;
  PciMatch out;
  ReadId(object, "vendor", out.vendor);
  ReadId(object, "device", out.device);
  out.class_prefix = ReadHexText(object, "class", kClassDigits);
  object.Read("driver", out.driver);
  object.Read("address", out.address);
  object.Finish();
  if (out == PciMatch())
    object.report().Problem(object.path(), "Required value: one of vendor, device, class, driver, address");
  return out;
}

/// Wildcards in the last part only: one folder is looked through.
std::string PathProblem(const std::string& path) {
  const std::size_t last = path.rfind('/');
  const std::vector<std::string_view> parts = Split(path, '/');
  if (!path.starts_with("/dev/") || last + 1 == path.size() || std::ranges::find(parts, "..") != parts.end())
    return InvalidValue(Printable(path, 80), "must be a path below /dev without \"..\"");
  if (path.substr(0, last).find_first_of("*?[") != std::string::npos)
    return InvalidValue(Printable(path, 80), "* and ? are for the last part of the path only");
  return "";
}

void CheckRule(Object& object, const LocalDeviceRule& rule) {
  const auto problem = [&](std::string_view key, std::string text) {
    object.report().Problem(object.PathOf(key), std::move(text));
  };
  const std::string_view domain = std::string_view(rule.resource).substr(0, rule.resource.find('/'));
  if (rule.resource.empty())
    problem("resource", "Required value: the name that pods ask for, such as example.com/gpu");
  else if (!IsQualifiedName(rule.resource) || domain == "kubernetes.io" || domain.ends_with(".kubernetes.io") ||
           domain.starts_with("requests."))
    problem("resource", InvalidValue(Printable(rule.resource, 80),
                                     "must be a name with a domain such as berth.dev/nic, not of kubernetes.io"));
  if (rule.pci.empty() && rule.paths.empty())
    object.report().Problem(object.path(), "Required value: pci, or paths, or both");
  if (rule.permissions.empty() || rule.permissions.find_first_not_of("rwm") != std::string::npos)
    problem("permissions", InvalidValue(Printable(rule.permissions, 40), "must be of the letters r, w and m"));
  for (const std::string& path : rule.paths)
    if (std::string bad = PathProblem(path); !bad.empty()) problem("paths", std::move(bad));
}

}  // namespace

void ReadLocalDevices(Object& object, std::vector<LocalDeviceRule>& out) {
  object.Each("localDevices", [&](const Node& node, const Path& path) {
    Object item(node, path, object.report());
    LocalDeviceRule rule;
    item.Read("resource", rule.resource);
    item.Each("pci", [&](const Node& inner, const Path& where) {
      Object match(inner, where, object.report());
      rule.pci.push_back(ReadMatch(match));
    });
    item.Read("paths", rule.paths);
    item.Read("permissions", rule.permissions);
    item.Finish();
    CheckRule(item, rule);
    out.push_back(std::move(rule));
  });
}

}  // namespace berth::config
