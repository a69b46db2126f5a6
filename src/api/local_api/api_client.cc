#include "api/local_api/api_client.h"

#include "api/local_api/api_errors.h"
#include "rpc/http/http_client.h"
#include "rpc/http/listener.h"

namespace berth::api {
namespace {

constexpr std::size_t kMostAnswer = std::size_t{256} << 20;

std::unexpected<Error> NotReached(const std::string& socket, const Error& why) {
  const Error probe = http::ProbeSocket(socket);
  if (probe.code == Code::kNotFound || probe.code == Code::kUnreachable)
    return Fail(Code::kUnreachable,
                "berthd is not running: nobody answers on " + socket + "; start it, or name its socket with --socket");
  if (probe.code == Code::kPermission)
    return Fail(Code::kPermission,
                probe.message + "; run as root or as a member of the group named by socketGroup in Berth's settings");
  if (probe.code == Code::kInUse)
    return Fail(Code::kUncertain,
                "berthd does not answer on " + socket + " (" + why.message + "); see its log (journalctl -u berthd)");
  return std::unexpected(probe);
}

Result<codec::Json> ReadAnswer(const std::string& socket, int status, const std::string& body) {
  if (body.empty()) return codec::Json::object();
  auto json = codec::ParseJson(body, "answer of berthd on " + socket);
  if (!json) return json;
  if (status >= 400) {
    if (auto error = ErrorIn(*json)) return std::unexpected(*std::move(error));
    return Fail(Code::kInternal, "berthd answered with HTTP status " + std::to_string(status));
  }
  return json;
}

}  // namespace

Result<codec::Json> Call(const std::string& socket, std::string_view method, const std::string& path,
                         const std::string& body, std::chrono::seconds timeout) {
  if (const Error probe = http::ProbeSocket(socket); probe.code == Code::kInvalid) return std::unexpected(probe);
  BERTH_TRY(const auto client, http::MakeClient());
  http::ClientRequest request{.method = std::string(method),
                              .url = "http://localhost" + path,
                              .unix_socket = socket,
                              .headers = {},
                              .body = body,
                              .patience = timeout,
                              .max_body = kMostAnswer};
  if (method == "POST") request.headers.emplace_back("Content-Type", "application/yaml");
  const auto answer = client->Send(request);
  if (!answer) return NotReached(socket, answer.error());
  return ReadAnswer(socket, answer->status, answer->body);
}

}  // namespace berth::api
