#include "api/local_api/routes.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "api/codec/views.h"
#include "api/local_api/api_errors.h"
#include "api/local_api/pod_texts.h"
#include "base/text.h"

namespace berth::api {
namespace {

using http::Answer;
using http::Request;

constexpr std::size_t kMostExecBytes = std::size_t{512} << 10;
constexpr std::size_t kMostExecValues = 10'000;  // words of the command, nearly

template <class T>
codec::Json JsonOf(const T& value) {
  return codec::ToJson(value);
}
template <class T>
codec::Json JsonOf(const std::shared_ptr<const T>& value) {
  return codec::ToJson(*value);
}

template <class T>
Answer AnswerWith(const Result<T>& result, int status = 200) {
  if (!result) return AnswerOf(result.error());
  return {.status = status, .body = FormatBody(JsonOf(*result))};
}

/// The value of a query parameter; "" when it is not given.
std::string Parameter(const Request& request, const std::string& name) {
  const auto it = request.query.find(name);
  return it == request.query.end() ? std::string() : it->second;
}

/// A whole number from a query parameter; absent: nullopt.
Result<std::optional<std::size_t>> Count(const Request& request, const std::string& name) {
  if (!request.query.contains(name)) return std::nullopt;
  const std::string text = Parameter(request, name);
  const auto value = ParseDecimal<std::size_t>(text);
  if (!value) return Fail(Code::kInvalid, name + "=" + Printable(text) + ": must be a whole number");
  return value;
}

bool IsSet(const Request& request, const std::string& name) {
  const std::string text = Parameter(request, name);
  return text == "1" || text == "true";
}

Result<EventList> GetEvents(const Request& request, Backend& backend) {
  EventQuery query{Parameter(request, "since"), Parameter(request, "pod"), std::nullopt};
  BERTH_TRY(query.limit, Count(request, "limit"));
  return backend.Events(query);
}

Result<LogPage> GetLogs(const Request& request, Backend& backend) {
  LogQuery query;
  query.namespace_ = request.parts[0];
  query.pod = request.parts[1];
  query.container = request.parts[2];
  query.previous = IsSet(request, "previous");
  query.since = Parameter(request, "since");
  query.follow = IsSet(request, "follow");
  query.log = Parameter(request, "log");
  query.after = Parameter(request, "after");
  BERTH_TRY(query.tail, Count(request, "tail"));
  return backend.Logs(query);
}

/// {"command": ["ls", "-l"], "timeoutSeconds": 60}
Result<ExecQuery> ReadExec(const Request& request) {
  constexpr std::int64_t kLongest = 86'400;
  ExecQuery query;
  query.namespace_ = request.parts[0];
  query.pod = request.parts[1];
  query.container = request.parts[2];
  query.caller_fd = request.caller_fd;
  BERTH_TRY(const codec::Json json, codec::ParseJson(request.body, "request", kMostExecValues));
  const auto fail = [](const char* what) { return Fail(Code::kInvalid, std::string("request: ") + what); };
  if (!json.is_object()) return fail("must be an object with \"command\"");
  for (const auto& [key, value] : json.items()) {
    if (key == "command" && value.is_array()) {
      for (const codec::Json& word : value) {
        if (!word.is_string()) return fail("\"command\" must be a list of words");
        query.command.push_back(word.get<std::string>());
      }
    } else if (key == "timeoutSeconds" && value.is_number_integer()) {
      query.limit = std::chrono::seconds(value.get<std::int64_t>());
    } else {
      return fail(("unknown field, or of another type: " + Printable(key, 40)).c_str());
    }
  }
  if (query.command.empty() || query.command.front().empty()) return fail("\"command\" names no program");
  if (query.limit.count() < 1 || query.limit.count() > kLongest) return fail("timeoutSeconds must be 1 to 86400");
  return query;
}

Result<CommandEnd> PostExec(const Request& request, Backend& backend) {
  BERTH_TRY(const ExecQuery query, ReadExec(request));
  return backend.Exec(query);
}

/// {"uid": "…", "container": "main", "nodes": "1"}
Result<Move> PostMove(const Request& request, Backend& backend) {
  BERTH_TRY(const codec::Json json, codec::ParseJson(request.body, "request"));
  auto wanted = codec::MoveRequestFromJson(json);
  if (!wanted) return Wrap(std::move(wanted).error(), "request");
  return backend.MoveContainer(*wanted);
}

Result<Outlook> PostExplain(const Request& request, Backend& backend) {
  const auto given = [&](const std::string& name) {
    return request.query.contains(name) ? std::optional(Parameter(request, name)) : std::nullopt;
  };
  ExplainQuery query{.manifest = request.body,
                     .topology_policy = given("topologyManagerPolicy"),
                     .topology_scope = given("topologyManagerScope"),
                     .cpu_options = {}};
  if (const auto options = given("cpuManagerPolicyOptions")) {
    query.cpu_options.emplace();
    for (const std::string_view option : Split(*options, ','))
      if (!option.empty()) query.cpu_options->emplace(option, "true");
  }
  return backend.Explain(query);
}

Result<StoredPods> PostPods(const Request& request, Backend& backend) {
  return backend.ApplyPods({.manifests = request.body,
                            .templates = IsSet(request, "templates"),
                            .dry_run = IsSet(request, "dryRun"),
                            .file = Parameter(request, "file")});
}

template <class T>
http::Route Read(const char* path, Result<T> (Backend::*read)(), Backend& backend) {
  return {"GET", path, [&backend, read](const Request&) { return AnswerWith((backend.*read)()); }};
}

void AddReads(std::vector<http::Route>& routes, Backend& backend) {
  routes.push_back(Read("/v1/status", &Backend::Status, backend));
  routes.push_back(Read("/v1/health", &Backend::GetHealth, backend));
  routes.push_back(Read("/v1/machine", &Backend::GetMachine, backend));
  routes.push_back(Read("/v1/devices", &Backend::Devices, backend));
  routes.push_back(Read("/v1/node", &Backend::Node, backend));
  routes.push_back(Read("/v1/ledger", &Backend::GetLedger, backend));
  routes.push_back(Read("/v1/tree", &Backend::Tree, backend));
  routes.push_back(Read("/v1/images", &Backend::Images, backend));
  routes.push_back({"GET", "/v1/pods", [&backend, texts = std::make_shared<PodTexts>()](const Request&) -> Answer {
                      const auto pods = backend.Pods();
                      return pods ? Answer{.status = 200, .body = texts->Of(*pods)} : AnswerOf(pods.error());
                    }});
  routes.push_back(MetricsRoute(backend));
  routes.push_back(Read("/stats/summary", &Backend::Stats, backend));
  routes.push_back(
      {"GET", "/v1/pods/{}/{}", [&](const Request& r) { return AnswerWith(backend.GetPod(r.parts[0], r.parts[1])); }});
  routes.push_back({"GET", "/v1/events", [&](const Request& r) { return AnswerWith(GetEvents(r, backend)); }});
  routes.push_back({"GET", "/v1/logs/{}/{}/{?}", [&](const Request& r) { return AnswerWith(GetLogs(r, backend)); }});
}

void AddWrites(std::vector<http::Route>& routes, Backend& backend) {
  routes.push_back({"POST", "/v1/pods", [&](const Request& r) { return AnswerWith(PostPods(r, backend)); }});
  routes.push_back({"POST", "/v1/explain", [&](const Request& r) { return AnswerWith(PostExplain(r, backend)); }});
  routes.push_back({"POST", "/v1/restart/{}/{}",
                    [&](const Request& r) { return AnswerWith(backend.RestartPod(r.parts[0], r.parts[1]), 202); }});
  routes.push_back(
      {"POST", "/v1/moves", [&](const Request& r) { return AnswerWith(PostMove(r, backend)); }, http::kSmallBody});
  routes.push_back({"POST", "/v1/exec/{}/{}/{?}", [&](const Request& r) { return AnswerWith(PostExec(r, backend)); },
                    kMostExecBytes});
  routes.push_back({"DELETE", "/v1/pods/{}/{}",
                    [&](const Request& r) { return AnswerWith(backend.DeletePod(r.parts[0], r.parts[1]), 202); }});
  const auto remove = [&](const char* path, DocumentKind kind) {
    routes.push_back({"DELETE", path, [&backend, kind](const Request& r) {
                        return AnswerWith(backend.DeleteDocument(kind, r.parts[0], r.parts[1]), 202);
                      }});
  };
  remove("/v1/configmaps/{}/{}", DocumentKind::kConfigMap);
  remove("/v1/secrets/{}/{}", DocumentKind::kSecret);
}

}  // namespace

http::Route MetricsRoute(Backend& backend) {
  return {"GET", "/metrics", [&backend](const Request&) -> Answer {
            auto text = backend.Metrics();
            if (!text) return AnswerOf(text.error());
            return {.type = kMetricsType, .body = *std::move(text)};
          }};
}

std::vector<http::Route> Routes(Backend& backend) {
  std::vector<http::Route> out;
  AddReads(out, backend);
  AddWrites(out, backend);
  return out;
}

Answer AnswerOf(const Error& error) { return {.status = HttpStatusOf(error.code), .body = FormatError(error)}; }

Answer Refuse(int status, std::string why) {
  const Code code = status == 404   ? Code::kNotFound
                    : status == 503 ? Code::kBusy
                    : status >= 500 ? Code::kInternal
                                    : Code::kInvalid;
  if (status == 404) why += "; see docs/reference/api.md";
  if (status == 413) why += "; send less at once";
  return {.status = status, .body = FormatError({code, 0, why})};
}

}  // namespace berth::api
