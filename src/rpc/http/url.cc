#include "rpc/http/url.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace berth::http {
namespace {

std::unexpected<Error> BadUrl(std::string_view field, std::string_view why) {
  return Fail(Code::kInvalid,
              fmt::format("{}: {}; write http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH", field, why));
}

bool IsVisible(char c) { return c > ' ' && c < 0x7f; }

Result<void> ReadHostAndPort(std::string_view text, std::string_view field, Url& out) {
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return BadUrl(field, "the address has no closing bracket");
    out.host = text.substr(1, end - 1);
    if (text.size() > end + 1 && text[end + 1] != ':') return BadUrl(field, "there is something behind the bracket");
    port = text.substr(std::min(text.size(), end + 2));
  } else {
    const std::size_t colon = text.find(':');
    out.host = text.substr(0, colon);
    if (colon != std::string_view::npos) port = text.substr(colon + 1);
  }
  if (out.host.empty()) return BadUrl(field, "the host is missing");
  if (port.empty()) return {};
  const auto number = ParseDecimal<int>(port);
  if (!number || *number < 1 || *number > 65535) return BadUrl(field, "the port is not between 1 and 65535");
  out.port = *number;
  return {};
}

}  // namespace

Result<Url> ParseUrl(std::string_view text, std::string_view field, std::string_view secrets) {
  Url out;
  if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else if (text.starts_with("https://")) {
    text.remove_prefix(8);
    out.tls = true;
    out.port = 443;
  } else {
    return BadUrl(field, "it is no http or https URL");
  }
  if (!std::ranges::all_of(text, IsVisible))
    return BadUrl(field, "it has blanks or other characters a URL cannot hold");
  text = text.substr(0, text.find('#'));
  const std::size_t end = std::min(text.size(), text.find_first_of("/?"));
  const std::string_view authority = text.substr(0, end);
  if (authority.find('@') != std::string_view::npos)
    return Fail(Code::kInvalid,
                fmt::format("{}: user and password do not belong into the URL, which is shown to people; "
                            "{}",
                            field, secrets));
  BERTH_RETURN_IF_ERROR(ReadHostAndPort(authority, field, out));
  out.target = text.substr(end);
  if (!out.target.starts_with('/')) out.target.insert(0, "/");
  return out;
}

std::string Authority(const Url& url) {
  const bool address = url.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", address ? "[" : "", url.host, address ? "]" : "", url.port);
}

std::string EncodeQuery(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

PathAndQuery& PathAndQuery::Add(std::string_view key, std::string_view value) {
  if (value.empty()) return *this;
  text_ += separator_;
  text_.append(key).append("=").append(EncodeQuery(value));
  separator_ = '&';
  return *this;
}

PathAndQuery& PathAndQuery::Add(std::string_view key, std::optional<std::size_t> value) {
  return Add(key, value ? std::to_string(*value) : std::string());
}

}  // namespace berth::http
