#include "frontend/probes/target.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace berth::probes {
namespace {

constexpr std::string_view kWithTls = "https://";

Result<std::string> PortOf(const std::string& port, const Container& container) {
  if (!port.empty() && std::ranges::all_of(port, IsDigit)) return port;
  for (const ContainerPort& known : container.ports)
    if (!port.empty() && known.name == port) return std::to_string(known.port);
  return Fail(Code::kInvalid, "container " + container.name + " has no port named " + Printable(port, 40));
}

Result<std::string> HostOf(const std::string& host, const std::string& address) {
  if (!host.empty()) return host;
  if (address.empty())
    return Fail(Code::kInvalid,
                "the pod has no address of its own that the container runtime told: ask by exec, or give host");
  return address;
}

/// What a URL may hold stays as it is.
std::string PathInUrl(std::string_view path) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out = path.starts_with('/') ? "" : "/";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f && c != '"' && c != '<' && c != '>' && c != '#') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    }
  }
  return out;
}

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

Result<HttpTarget> TargetOf(const HttpCheck& check, const Container& container, const std::string& address,
                            std::string_view agent) {
  BERTH_TRY(const std::string port, PortOf(check.port, container));
  BERTH_TRY(const std::string host, HostOf(check.host, address));
  const bool v6 = host.find(':') != std::string::npos && !host.starts_with('[');
  HttpTarget out;
  out.url = std::string(check.https ? kWithTls : "http://") + (v6 ? "[" + host + "]" : host) + ":" + port +
            PathInUrl(check.path);
  out.headers = check.headers;
  const auto add = [&](std::string_view name, std::string_view value) {
    if (std::ranges::none_of(check.headers, [&](const auto& header) { return SameName(header.first, name); }))
      out.headers.emplace_back(name, value);
  };
  add("User-Agent", agent);
  add("Accept", "*/*");
  return out;
}

HttpTarget WithoutTls(HttpTarget target) {
  target.url = "http://" + target.url.substr(kWithTls.size());
  std::erase_if(target.headers, [](const auto& header) { return SameName(header.first, "Authorization"); });
  return target;
}

Result<TcpTarget> TargetOf(const TcpCheck& check, const Container& container, const std::string& address) {
  BERTH_TRY(std::string port, PortOf(check.port, container));
  BERTH_TRY(std::string host, HostOf(check.host, address));
  return TcpTarget{.host = std::move(host), .port = std::move(port)};
}

Result<GrpcTarget> TargetOf(const GrpcCheck& check, const Container& container, const std::string& address) {
  BERTH_TRY(TcpTarget at, TargetOf(TcpCheck{.host = "", .port = std::to_string(check.port)}, container, address));
  return GrpcTarget{.host = std::move(at.host), .port = std::move(at.port), .service = check.service};
}

}  // namespace berth::probes
