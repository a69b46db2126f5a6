// Any published states, pods and calls of a scheduler are answered, by one that makes sense: a line each, which begins
// with s (state), p (pod), g (pod that is gone), f (filter) or r (prioritize).
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "api/codec/codec.h"
#include "base/text.h"
#include "kubernetes/kube_client/kube_object.h"
#include "kubernetes/scheduler_server/extender_service.h"

namespace {

using namespace berth;

void Tell(scheduler_server::Cluster& cluster, scheduler_server::Kind kind, std::string_view text, bool gone) {
  auto object = kube::ReadObject(text);
  if (!object || object->key.name.empty()) return;
  const auto change = gone ? kube::Change::Kind::kGone : kube::Change::Kind::kSet;
  for (const std::string& problem : cluster.Take(kind, {{.kind = change, .object = *std::move(object)}}))
    BERTH_CHECK(!problem.empty());
}

void Ask(const std::vector<http::Route>& routes, std::string_view path, std::string_view body) {
  for (const http::Route& route : routes) {
    if (route.pattern != path) continue;
    const http::Answer answer = route.handler({.method = route.method, .body = std::string(body)});
    BERTH_CHECK(answer.status == 200 || answer.status == 400);
    BERTH_CHECK(answer.status == 400 || codec::ParseJson(answer.body, "answer"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  scheduler_server::Cluster cluster({.patience = os::Millis{0}});
  for (const scheduler_server::Kind kind : scheduler_server::kKinds)
    cluster.Take(kind, {{.kind = kube::Change::Kind::kSynced, .object = {}}});
  scheduler_server::Service service(cluster);
  const std::vector<http::Route> routes = service.Routes();
  for (const std::string_view line : Split({reinterpret_cast<const char*>(data), size}, '\n')) {
    if (line.empty()) continue;
    const std::string_view text = line.substr(1);
    switch (line.front()) {
      case 's': Tell(cluster, scheduler_server::Kind::kNodeStates, text, false); break;
      case 'p': Tell(cluster, scheduler_server::Kind::kPods, text, false); break;
      case 'g': Tell(cluster, scheduler_server::Kind::kPods, text, true); break;
      case 'f': Ask(routes, "/filter", text); break;
      case 'r': Ask(routes, "/prioritize", text); break;
      default: break;
    }
  }
  BERTH_CHECK(!scheduler_server::FormatMetrics(cluster.figures(), {}).empty());
  return 0;
}
