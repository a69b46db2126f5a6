#include "daemon/api_servers.h"

#include <string>
#include <utility>

#include "config/berth_config.h"
#include "daemon/apply_check.h"
#include "daemon/pod_folder.h"
#include "daemon/web_options.h"

namespace berth::daemon {

ApiServers::ApiServers(ApiServersParts parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<ApiServers>> ApiServers::Open(ApiServersParts parts) {
  std::unique_ptr<ApiServers> out(new ApiServers(std::move(parts)));
  out->OpenPodResources();  // who finds the API finds it too
  const ApiServersParts& with = out->parts_;
  const config::BerthConfiguration& settings = with.settings.berth;
  const RestartDoor restart = [&manager = with.manager](const std::string& uid) {
    return manager.Restart(uid, os::SystemClock().Now());
  };
  const MoveDoor move = [&node = with.node](const MoveRequest& request) { return node.MakeMove(request); };
  out->api_ = std::make_unique<LocalApi>(with.published, with.loop, restart, move, with.health, with.host.Door(),
                                         &with.history, with.host.calls(), out->pod_resources_.get(),
                                         PodFolder(with.settings.pod_dir, settings.node_name),
                                         ApplyRules{.pods = with.pods,
                                                    .node = with.manager.static_pods().options().rules,
                                                    .profiles = with.host.profiles(),
                                                    .node_name = settings.node_name,
                                                    .cluster_domain = with.settings.kubelet.cluster_domain});
  BERTH_TRY(out->server_,
            api::StartServer(
                {.socket = settings.socket, .group = settings.socket_group, .on_lost_socket = with.on_lost_socket},
                *out->api_));
  out->OpenWeb();
  BERTH_RETURN_IF_ERROR(out->OpenMetrics());
  return out;
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
       .only_active = FeatureEnabled(parts_.settings.kubelet, "KubeletPodResourcesListUseActivePods"),
       .on_lost_socket = parts_.on_lost_socket},
      [this] { return NewestSnapshot(); });
  const pods::Parts& node = parts_.node.parts();
  if (service)
    pod_resources_ = *std::move(service);
  else
    node.events.Warning("PodResourcesUnavailable", node.ObjectOfNode(),
                        "the pod resources API is not served: " + service.error().message);
}

void ApiServers::OpenWeb() {
  if (!parts_.settings.berth.web) return;
  web::Options options = WebOptionsOf(parts_.settings);
  options.snapshot = [this] { return NewestSnapshot(); };
  options.on_lost_socket = parts_.on_lost_socket;
  auto page = web::Page::Start(std::move(options), *api_);
  const pods::Parts& node = parts_.node.parts();
  if (!page)
    return node.events.Warning("WebUnavailable", node.ObjectOfNode(),
                               "the live page is not served: " + page.error().message);
  web_ = *std::move(page);
  parts_.log.Info("live page: " + parts_.settings.berth.web->address);
}

}  // namespace berth::daemon
