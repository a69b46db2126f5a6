#include "frontend/probes/ask.h"

#include <memory>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "frontend/probes/connect.h"
#include "frontend/probes/plain_http.h"
#include "rpc/grpc/grpc_client.h"
#include "rpc/grpc/transport.h"
#include "rpc/http/http_client.h"

namespace berth::probes {
namespace {

using Kind = Outcome::Kind;

constexpr std::size_t kMostText = 1024;  // of an event
constexpr int kMostRedirects = 10;
constexpr std::string_view kHealthCheck = "/grpc.health.v1.Health/Check";
constexpr std::size_t kMostHealth = 4096;  // of an answer; it has two bytes

Outcome Failed(std::string_view text) { return {Kind::kFailure, Printable(text, kMostText)}; }

Outcome NotAsked(const Error& error) { return {Kind::kError, Printable(error.message, kMostText)}; }

/// "example" of "http://user@example:80/x".
std::string_view HostIn(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view rest = url.substr(scheme + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (const std::size_t user = rest.rfind('@'); user != std::string_view::npos) rest = rest.substr(user + 1);
  if (rest.starts_with('[')) return rest.substr(0, rest.find(']') + 1);
  return rest.substr(0, rest.find(':'));
}

/// Follows where the same host leads; a redirection elsewhere is taken as the answer.
struct Asker {
  os::MonoTime deadline;
  int cancel_fd;

  os::Millis Left() const {
    const os::MonoTime now = os::SystemClock().Now();
    return now < deadline ? std::chrono::ceil<os::Millis>(deadline - now) : os::Millis(1);
  }

  Outcome operator()(HttpTarget target) const;
  /// By http what nobody there speaks https for.
  Outcome AskPlainly(HttpTarget target) const;
  Outcome operator()(const TcpTarget& target) const {
    const auto connected = Connect(target.host, target.port, deadline, cancel_fd);
    if (connected) return {Kind::kSuccess, ""};
    return connected.error().code == Code::kCancelled ? NotAsked(connected.error()) : Failed(connected.error().message);
  }
  Outcome operator()(const GrpcTarget& target) const;
  Outcome operator()(ExecTarget target) const {
    const auto end = target.job(Left(), cancel_fd);
    if (end && end->exit_code == 0) return {Kind::kSuccess, Printable(end->output, kMostText)};
    if (end)
      return Failed(end->output.empty() ? "command ended with exit code " + std::to_string(end->exit_code)
                                        : end->output);
    if (end.error().code == Code::kTimeout) return Failed("command timed out: " + end.error().message);
    return NotAsked(end.error());
  }
};

Outcome Judge(const http::ClientAnswer& answer) {
  if (answer.status >= 200 && answer.status < 300) return {Kind::kSuccess, ""};
  if (answer.status >= 300 && answer.status < 400)
    return {Kind::kWarning, "Probe terminated redirects, Response body: " + Printable(answer.body, kMostText)};
  return Failed("HTTP probe failed with statuscode: " + std::to_string(answer.status));
}

Outcome Asker::operator()(HttpTarget target) const {
  auto client = http::MakeClient();
  if (!client) return NotAsked(client.error());
  for (int redirects = 0; redirects <= kMostRedirects; ++redirects) {
    const auto answer = (*client)->Send({.url = target.url,
                                         .unix_socket = {},
                                         .headers = target.headers,
                                         .body = {},
                                         .max_body = kMostAnswer,
                                         .limit = Left(),
                                         .cancel_fd = cancel_fd,
                                         .verify = false,
                                         .cut_body = true});
    if (!answer && answer.error().code == Code::kCancelled) return NotAsked(answer.error());
    if (!answer && target.plain_if_no_tls && target.url.starts_with("https://") &&
        SpeaksPlainHttp(target.url, deadline, cancel_fd))
      return AskPlainly(std::move(target));
    if (!answer) return Failed("Get \"" + target.url + "\": " + answer.error().message);
    if (answer->redirect.empty() || HostIn(answer->redirect) != HostIn(target.url))
      return target.any_status ? Outcome{Kind::kSuccess, ""} : Judge(*answer);
    target.url = answer->redirect;
  }
  return Failed("Get \"" + target.url + "\": stopped after 10 redirects");
}

Outcome Asker::AskPlainly(HttpTarget target) const {
  const std::string wanted = target.url;
  target.plain_if_no_tls = false;
  Outcome outcome = (*this)(WithoutTls(std::move(target)));
  if (!outcome.success()) return outcome;
  return {Kind::kWarning, Printable("\"" + wanted + "\" is answered in plain HTTP: asked that way instead", kMostText)};
}

/// HealthCheckRequest: the service is its first field, a text.
std::string HealthRequest(const std::string& service) {
  std::string out;
  if (service.empty()) return out;
  out += '\x0a';
  for (std::size_t size = service.size();; size >>= 7U) {
    out += static_cast<char>((size & 0x7fU) | (size > 0x7fU ? 0x80U : 0U));
    if (size <= 0x7fU) break;
  }
  return out + service;
}

/// HealthCheckResponse: the status is its first field, a number; 0 when it is not there.
int HealthStatus(std::string_view message) {
  if (message.size() < 2 || message[0] != '\x08') return 0;
  return static_cast<unsigned char>(message[1]);
}

std::string_view NameOfHealth(int status) {
  switch (status) {
    case 0: return "UNKNOWN";
    case 2: return "NOT_SERVING";
    case 3: return "SERVICE_UNKNOWN";
    default: return "an unknown status";
  }
}

Outcome Asker::operator()(const GrpcTarget& target) const {
  const auto connect = [this, &target]() -> Result<std::unique_ptr<grpc::Transport>> {
    BERTH_TRY(os::UniqueFd socket, Connect(target.host, target.port, deadline, cancel_fd));
    return grpc::SocketTransport(std::move(socket));
  };
  const std::string peer = target.host + ":" + target.port;
  grpc::Client client(connect, peer, {.limits = {.message = kMostHealth}, .keepalive = {}});
  const auto answer = client.Call(std::string(kHealthCheck), HealthRequest(target.service),
                                  {.deadline = deadline, .cancel_fd = cancel_fd});
  constexpr int kServing = 1;
  if (answer && HealthStatus(*answer) == kServing) return {Kind::kSuccess, ""};
  if (answer)
    return Failed("service unhealthy (responded with \"" + std::string(NameOfHealth(HealthStatus(*answer))) + "\")");
  switch (answer.error().code) {
    case Code::kCancelled: return NotAsked(answer.error());
    case Code::kUnsupported:
      return Failed("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " +
                    answer.error().message);
    default: return Failed(answer.error().message);
  }
}

}  // namespace

Outcome Ask(Target target, os::Millis limit, int cancel_fd) {
  const Asker asker{.deadline = os::SystemClock().Now() + limit, .cancel_fd = cancel_fd};
  return std::visit([&](auto& at) { return asker(std::move(at)); }, target);
}

}  // namespace berth::probes
