#include "daemon/api_servers.h"

#include <string>
#include <utility>

#include "config/berth_config.h"
#include "daemon/apply_check.h"
#include "daemon/pod_folder.h"
#include "daemon/web_options.h"

namespace berth::daemon {

ApiServers::ApiServers(ApiServersParts parts) : parts_(std::move(parts)) {}

Result<void> ApiServers::Open() {
  OpenPodResources();  // who finds the API finds it too
  const config::BerthConfiguration& settings = parts_.settings.berth;
  const RestartDoor restart = [&manager = parts_.manager](const std::string& uid)
                                  BERTH_REQUIRES(loop_thread) { return manager.Restart(uid, os::SystemClock().Now()); };
  const MoveDoor move = [&node = parts_.node](const MoveRequest& request) { return node.MakeMove(request); };
  api_ = std::make_unique<LocalApi>(parts_.published, parts_.loop, restart, move, parts_.health, parts_.host.Door(),
                                    &parts_.history, parts_.host.calls(), pod_resources_.get(),
                                    PodFolder(parts_.settings.pod_dir, settings.node_name),
                                    ApplyRules{.pods = parts_.host.HowPodsAreRead(),
                                               .node = parts_.manager.static_pods().options().rules,
                                               .profiles = parts_.host.profiles(),
                                               .node_name = settings.node_name,
                                               .cluster_domain = parts_.settings.kubelet.cluster_domain},
                                    parts_.host.limits());
  BERTH_TRY(
      server_,
      api::StartServer(
          {.socket = settings.socket, .group = settings.socket_group, .on_lost_socket = parts_.on_lost_socket}, *api_));
  OpenWeb();
  return OpenMetrics();
}

Result<void> ApiServers::OpenMetrics() {
  const auto metrics = config::ParseTcpAddress(parts_.settings.berth.metrics_address);
  if (!metrics) return {};
  auto started = api::StartMetricsServer(metrics->address, metrics->port, *api_);
  if (!started) return Wrap(std::move(started).error(), "metricsAddress");
  metrics_server_ = *std::move(started);
  return {};
}

/// Thread: any.
std::shared_ptr<const NodeSnapshot> ApiServers::NewestSnapshot() const {
  const std::shared_ptr<const LoopState> state = parts_.published.Get();
  return {state, &state->node};
}

void ApiServers::OpenPodResources() {
  const std::string& socket = parts_.settings.berth.pod_resources_socket;
  if (socket.empty()) return;
  auto service = pod_resources::Service::Start(
      {.socket = socket,
       .only_active = FeatureEnabled(parts_.settings.kubelet, "KubeletPodResourcesListUseActivePods",
                                     parts_.settings.kubelet_version),
       .on_lost_socket = parts_.on_lost_socket},
      [this] { return NewestSnapshot(); });
  if (service)
    pod_resources_ = *std::move(service);
  else
    parts_.node.events().Warning("PodResourcesUnavailable", parts_.node.ObjectOfNode(),
                                 "the pod resources API is not served: " + service.error().message);
}

void ApiServers::OpenWeb() {
  if (!parts_.settings.berth.web) return;
  web::Options options = WebOptionsOf(parts_.settings);
  options.snapshot = [this] { return NewestSnapshot(); };
  options.on_lost_socket = parts_.on_lost_socket;
  auto page = web::Page::Start(std::move(options), *api_);
  if (!page)
    return parts_.node.events().Warning("WebUnavailable", parts_.node.ObjectOfNode(),
                                        "the live page is not served: " + page.error().message);
  web_ = *std::move(page);
  parts_.log.Info("live page: " + parts_.settings.berth.web->address);
}

}  // namespace berth::daemon
