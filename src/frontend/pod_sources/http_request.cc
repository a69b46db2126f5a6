#include "frontend/pod_sources/http_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "rpc/http/http_client.h"

namespace berth::pod_sources {
namespace {

/// Characters of a header's name (RFC 9110, token).
bool IsToken(char c) {
  return c > ' ' && c < 0x7f && std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
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

Result<std::unique_ptr<HttpGetter>> MakeHttpGetter(const http::Url& url, const Headers& headers, os::Millis timeout,
                                                   std::string shown) {
  BERTH_TRY(auto client, http::MakeClient());
  http::ClientRequest request;
  request.url = fmt::format("{}://{}{}", url.tls ? "https" : "http", http::Authority(url), url.target);
  request.headers.emplace_back("Accept", "application/yaml, application/json");
  for (const auto& [name, values] : headers)
    for (const std::string& value : values) request.headers.emplace_back(name, value);
  request.patience = timeout;
  request.max_body = HttpGetter::kMaxBody;
  return std::make_unique<Getter>(std::move(client), std::move(request), std::move(shown));
}

}  // namespace berth::pod_sources
