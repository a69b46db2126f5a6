#include "api/web/web_server.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "api/codec/views.h"
#include "api/local_api/api_errors.h"
#include "api/local_api/routes.h"
#include "api/web/files.h"
#include "base/mutex.h"
#include "base/text.h"
#include "host/os/clock.h"
#include "host/os/input.h"

namespace berth::web {
namespace {

using http::Answer;
using http::Request;
using http::Route;

constexpr std::size_t kLargestManifest = std::size_t{1} << 20;
constexpr std::size_t kMostConnections = 128;  // half of it over TCP
constexpr std::size_t kMostWorkers = 4;        // explaining takes a CPU each
constexpr std::size_t kMostInAnswer = 5'000;   // of one answer

/// Calls of the API that only look, by their patterns.
constexpr std::string_view kLooks[] = {"/v1/status", "/v1/machine", "/v1/devices",    "/v1/tree",
                                       "/v1/pods",   "/v1/events",  "/stats/summary", "/v1/explain"};
/// Those that change what runs.
constexpr std::string_view kChanges[] = {"/v1/pods", "/v1/pods/{}/{}"};

bool Looks(const Route& route) {
  const bool listed = std::ranges::find(kLooks, route.pattern) != std::ranges::end(kLooks);
  return listed && (route.method == "GET" || route.pattern == "/v1/explain");
}
bool Changes(const Route& route) {
  const bool listed = std::ranges::find(kChanges, route.pattern) != std::ranges::end(kChanges);
  return listed && (route.method == "POST" || route.method == "DELETE");
}

Answer AnswerWith(const codec::Json& json) { return {.body = api::FormatBody(json)}; }

/// Of a manifest what a place is decided by: commands, environment and volumes may hold secrets, and the page shows
/// none.
Pod WhatIsAsked(const Pod& pod) {
  const auto bare = [](const std::vector<Container>& containers) {
    std::vector<Container> out;
    for (const Container& from : containers)
      out.push_back({.name = from.name,
                     .image = from.image,
                     .resources = from.resources,
                     .restartable_init = from.restartable_init});
    return out;
  };
  return {.name = pod.name,
          .namespace_ = pod.namespace_,
          .labels = pod.labels,
          .init_containers = bare(pod.init_containers),
          .containers = bare(pod.containers),
          .overhead = pod.overhead,
          .resources = pod.resources,
          .priority = PriorityOf(pod)};
}

Answer GetPod(const Request& request, api::Backend& backend) {
  auto pod = backend.GetPod(request.parts[0], request.parts[1]);
  if (!pod) return api::AnswerOf(pod.error());
  pod->manifest = WhatIsAsked(pod->manifest);
  return AnswerWith(codec::ToJson(*pod));
}

/// The text berthd was started with may name what a URL is asked with.
Answer GetNode(api::Backend& backend) {
  const auto node = backend.Node();
  if (!node) return api::AnswerOf(node.error());
  NodeView shown = **node;
  shown.kubelet_configuration.clear();
  return AnswerWith(codec::ToJson(shown));
}

Answer GetEvents(const Route& route, const Request& request) {
  Request bounded;
  bounded.query = request.query;
  const auto asked = ParseDecimal<std::size_t>(bounded.query["limit"]);
  bounded.query["limit"] = std::to_string(std::min(asked.value_or(kMostInAnswer), kMostInAnswer));
  return route.handler(bounded);
}

Answer GetSession(const Request& request, const Options& options, const Gate& gate) {
  if (auto refused = gate.RefuseStranger(request)) return *std::move(refused);
  return AnswerWith({{"asks", gate.asks()},
                     {"open", !gate.Refuse(request)},
                     {"changes", options.allow_changes},
                     {"nodeName", options.node_name}});
}

Answer Watch(const Request& request, Feed& feed) {
  auto stream = feed.Join(request.wake);
  if (!stream) return api::AnswerOf(stream.error());
  return {.type = "text/event-stream", .stream = *std::move(stream)};
}

/// JSON of a whole node is some MiB while it is made: not of as many callers at once as ask.
std::function<Answer(const Request&)> OneAtATime(std::shared_ptr<Mutex> mutex,
                                                 std::function<Answer(const Request&)> handler) {
  return [mutex = std::move(mutex), handler = std::move(handler)](const Request& request) {
    const MutexLock lock(*mutex);
    return handler(request);
  };
}

void AddFiles(std::vector<Route>& routes, const Gate& gate) {
  const auto add = [&](std::string path, const PageFile& file) {
    routes.push_back({"GET", std::move(path), [&gate, file](const Request& request) -> Answer {
                        if (auto refused = gate.RefuseFile(request)) return *std::move(refused);
                        return {.type = std::string(TypeOf(file.name)), .body = std::string(file.text)};
                      }});
  };
  for (const PageFile& file : PageFiles()) {
    add("/" + std::string(file.name), file);
    if (file.name == "index.html") add("/", file);
  }
}

GateOptions GateOf(const Options& options, std::string token) {
  return {
      .tls = options.place.tls.has_value(), .this_host_only = options.place.this_host_only, .token = std::move(token)};
}

Result<std::string> TokenOf(const Options& options) {
  if (options.token_file.empty()) return std::string();
  return ReadToken(options.token_file);
}

}  // namespace

Result<void> CheckFiles(const Options& options) {
  BERTH_TRY([[maybe_unused]] const std::string token, TokenOf(options));
  if (!options.place.tls) return {};
  BERTH_TRY([[maybe_unused]] const std::string certificate, os::ReadInput(options.place.tls->certificate));
  BERTH_TRY([[maybe_unused]] const std::string key, os::ReadInput(options.place.tls->key));
  return {};
}

const http::HeaderList& SafeHeaders() {
  static const http::HeaderList headers = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
       "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cache-Control", "no-store"}};
  return headers;
}

std::vector<Route> Routes(const Options& options, api::Backend& backend, Gate& gate, Feed& feed) {
  std::vector<Route> out;
  const auto one = std::make_shared<Mutex>();
  AddFiles(out, gate);
  out.push_back({"GET", "/web/session", [=, &gate](const Request& r) { return GetSession(r, options, gate); }});
  out.push_back({"POST", "/web/login", [&gate](const Request& r) { return gate.Login(r); }});
  out.push_back({"POST", "/web/logout", [&gate](const Request& r) { return gate.Logout(r); }});
  const auto add = [&](std::string method, std::string pattern, std::function<Answer(const Request&)> handler) {
    out.push_back({std::move(method), std::move(pattern), [&gate, handler = std::move(handler)](const Request& r) {
                     auto refused = gate.Refuse(r);
                     return refused ? *std::move(refused) : handler(r);
                   }});
  };
  add("GET", "/web/live", [&feed](const Request& r) { return Watch(r, feed); });
  add("GET", "/v1/pods/{}/{}", [&backend](const Request& r) { return GetPod(r, backend); });
  add("GET", "/v1/node", [&backend](const Request&) { return GetNode(backend); });
  for (const Route& route : api::Routes(backend)) {
    if (route.pattern == "/v1/events")
      add(route.method, route.pattern, [route](const Request& r) { return GetEvents(route, r); });
    else if (Looks(route) && route.method == "GET")
      add(route.method, route.pattern, OneAtATime(one, route.handler));
    else if (Looks(route) || (options.allow_changes && Changes(route)))
      add(route.method, route.pattern, route.handler);
  }
  return out;
}

Page::Page(const Options& options, std::string token, api::Backend& backend)
    : gate_(GateOf(options, std::move(token)), os::SystemClock()),
      feed_({.snapshot = options.snapshot, .stats = [&backend] { return backend.Stats(); }}) {}

Result<std::unique_ptr<Page>> Page::Start(Options options, api::Backend& backend) {
  BERTH_TRY(std::string token, TokenOf(options));
  const Place& place = options.place;
  BERTH_TRY(http::Listener listener, place.socket.empty()
                                         ? http::ListenTcp(place.address, place.port, place.tls ? &*place.tls : nullptr)
                                         : http::ListenUnix(place.socket, place.group));
  std::unique_ptr<Page> out(new Page(options, std::move(token), backend));
  http::ServerOptions serving{.routes = Routes(options, backend, out->gate_, out->feed_),
                              .refuse = &api::Refuse,
                              .headers = SafeHeaders(),
                              .limits = {.body = kLargestManifest,
                                         .large_bodies = 4 * kLargestManifest,
                                         .connections = kMostConnections,
                                         .workers = kMostWorkers},
                              .on_lost_socket = options.on_lost_socket};
  std::vector<http::Listener> listeners;
  listeners.push_back(std::move(listener));
  BERTH_TRY(out->server_, http::Server::Start(std::move(serving), std::move(listeners)));
  return out;
}

}  // namespace berth::web
