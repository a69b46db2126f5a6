#include "kubernetes/scheduler_server/extender_service.h"

#include <chrono>
#include <utility>

#include "kubernetes/scheduler_extender/extender_messages.h"
#include "kubernetes/scheduler_extender/reasons.h"
#include "telemetry/metrics/exposition_format.h"

namespace berth::scheduler_server {
namespace {

http::Answer Text(int status, std::string body) {
  return {.status = status, .type = "text/plain; charset=utf-8", .body = std::move(body += '\n')};
}

}  // namespace

Service::Reply Service::Filter(const http::Request& request) {
  const auto call = scheduler_extender::ReadCall(request.body);
  if (!call)
    return {.answer = {.body = scheduler_extender::FormatFilterError(call.error().message)},
            .outcome = Outcome::kInvalid};
  auto found = cluster_.Filter(*call);
  if (!found)
    return {.answer = {.body = scheduler_extender::FormatFilterError(found.error().message)},
            .outcome = Outcome::kRefused};
  scheduler_extender::Shorten(found->refused);
  return {.answer = {.body = scheduler_extender::FormatFilterResult(*call, found->passed, found->refused)}};
}

Service::Reply Service::Prioritize(const http::Request& request) {
  const auto call = scheduler_extender::ReadCall(request.body);
  if (!call) return {.answer = Text(400, call.error().message), .outcome = Outcome::kInvalid};
  return {.answer = {.body = scheduler_extender::FormatHostPriorities(*call, cluster_.Prioritize(*call))}};
}

http::Answer Service::Counted(Verb verb, Reply (Service::*handle)(const http::Request&), const http::Request& request) {
  const os::MonoTime begin = clock_.Now();
  std::string why = cluster_.WhyNotReady();
  Reply reply = why.empty() ? (this->*handle)(request)
                            : Reply{.answer = Text(503, std::move(why)), .outcome = Outcome::kNotReady};
  const std::chrono::duration<double> took = clock_.Now() - begin;
  const auto v = static_cast<std::size_t>(verb);
  const MutexLock lock(mutex_);
  ++calls_.counts[v][static_cast<std::size_t>(reply.outcome)];
  calls_.seconds[v].Add(took.count());
  return std::move(reply.answer);
}

http::Answer Service::Ready() const {
  std::string why = cluster_.WhyNotReady();
  return why.empty() ? Text(200, "ok") : Text(503, std::move(why));
}

http::Answer Service::Metrics() {
  const ClusterFigures cluster = cluster_.figures();
  const MutexLock lock(mutex_);
  return {.type = metrics::kContentType, .body = FormatMetrics(cluster, calls_)};
}

std::vector<http::Route> Service::Routes() {
  using http::Request;
  return {
      {"POST", "/filter", [this](const Request& r) { return Counted(Verb::kFilter, &Service::Filter, r); }},
      {"POST", "/prioritize", [this](const Request& r) { return Counted(Verb::kPrioritize, &Service::Prioritize, r); }},
      {"GET", "/healthz", [](const Request&) { return Text(200, "ok"); }},
      {"GET", "/readyz", [this](const Request&) { return Ready(); }},
      {"GET", "/metrics", [this](const Request&) { return Metrics(); }},
  };
}

}  // namespace berth::scheduler_server
