#include "source/http_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "http/client.h"

namespace berth::source {
namespace {

std::unexpected<Error> BadUrl(std::string_view field, std::string_view why) {
  return Fail(Code::kInvalid,
              fmt::format("{}: {}; write http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH", field, why));
}

bool IsVisible(char c) { return c > ' ' && c < 0x7f; }

/// Characters of a header's name (RFC 9110, token).
bool IsToken(char c) {
  return IsVisible(c) && std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
}

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

class Getter final : public HttpGetter {
 public:
  Getter(std::unique_ptr<http::Client> client, http::ClientRequest request, std::string shown)
      : client_(std::move(client)), request_(std::move(request)), shown_(std::move(shown)) {}

  Result<std::string> Get() override {
    auto answer = client_->Send(request_);
    if (!answer) return Failed(answer.error().message);
    if (answer->status != 200) return Failed(AboutStatus(answer->status));
    return std::move(answer->body);
  }

  void Stop() override { client_->Stop(); }

 private:
  std::unexpected<Error> Failed(std::string_view why) const {
    return Fail(Code::kIo, fmt::format("get {}: {}", shown_, why));
  }
  static std::string AboutStatus(int status) {
    if (status >= 300 && status < 400)
      return fmt::format("it answers with status {}, which leads elsewhere; name the place itself in staticPodURL",
                         status);
    if (status == 401 || status == 403)
      return fmt::format("it answers with status {}; give what it asks for in staticPodURLHeader", status);
    return fmt::format("it answers with status {}, not 200", status);
  }

  std::unique_ptr<http::Client> client_;
  http::ClientRequest request_;
  std::string shown_;
};

}  // namespace

Result<Url> ParseUrl(std::string_view text, std::string_view field) {
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
                            "give them as an Authorization header in staticPodURLHeader",
                            field));
  BERTH_RETURN_IF_ERROR(ReadHostAndPort(authority, field, out));
  out.target = text.substr(end);
  if (!out.target.starts_with('/')) out.target.insert(0, "/");
  return out;
}

Result<void> CheckHeaders(const Headers& headers, std::string_view field) {
  for (const auto& [name, values] : headers) {
    if (name.empty() || !std::ranges::all_of(name, IsToken))
      return Fail(Code::kInvalid, fmt::format("{}[{}]: this is no name of an HTTP header", field, Printable(name)));
    for (const std::string& value : values)
      if (std::ranges::any_of(value, [](char c) { return c == '\r' || c == '\n' || c == '\0'; }))
        return Fail(Code::kInvalid,
                    fmt::format("{}[{}]: the value has more than one line; a header is one", field, name));
  }
  return {};
}

Result<std::unique_ptr<HttpGetter>> MakeHttpGetter(const Url& url, const Headers& headers, os::Millis timeout,
                                                   std::string shown) {
  BERTH_TRY(auto client, http::MakeClient());
  const std::string host = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  http::ClientRequest request;
  request.url = fmt::format("{}://{}:{}{}", url.tls ? "https" : "http", host, url.port, url.target);
  request.headers.emplace_back("Accept", "application/yaml, application/json");
  for (const auto& [name, values] : headers)
    for (const std::string& value : values) request.headers.emplace_back(name, value);
  request.patience = timeout;
  request.max_body = HttpGetter::kMaxBody;
  return std::make_unique<Getter>(std::move(client), std::move(request), std::move(shown));
}

}  // namespace berth::source
