#include "daemon/cluster_publishers.h"

#include <utility>

#include "host/os/clock.h"
#include "host/os/fs.h"
#include "kubernetes/kube_client/access.h"

namespace berth::daemon {

ClusterPublishers::ClusterPublishers(const config::PublishSettings& settings, const std::string& node,
                                     const std::string& version, event_loop::Loop& loop, event_loop::Executor& executor,
                                     const Teller& tell) {
  const auto connect = [kubeconfig = settings.kubeconfig]() -> Result<std::unique_ptr<kube::Client>> {
    BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
    BERTH_TRY(kube::Access access, kube::LoadOwnAccess(*fs, kubeconfig));
    return kube::Client::Make(std::move(access), {.retries = 0});  // a publisher has a pace of its own
  };
  const auto open = [&](node_publisher::Kind kind) BERTH_REQUIRES(loop_thread) {
    auto writer = std::make_unique<node_publisher::Writer>(
        node_publisher::WriterOptions{.kind = kind, .node = node, .version = version}, connect);
    publishers_.push_back(std::make_unique<node_publisher::Publisher>(
        std::move(writer), executor, os::SystemClock(),
        node_publisher::PublisherOptions{.seed = std::hash<std::string>()(node) + publishers_.size()}, tell));
    node_publisher::Publisher& opened = *publishers_.back();
    loop.Keep(
        "publishing", [&opened]() BERTH_REQUIRES(loop_thread) { return opened.next_due(); },
        [&opened](os::MonoTime now) BERTH_REQUIRES(loop_thread) { opened.Tick(now); });
  };
  if (settings.topology) open(node_publisher::Kind::kTopology);
  if (settings.state) open(node_publisher::Kind::kState);
}

void ClusterPublishers::Publish(const std::shared_ptr<const LoopState>& state) {
  for (const auto& publisher : publishers_)
    publisher->Changed(
        {.node = std::shared_ptr<const NodeSnapshot>(state, &state->node),
         .config = std::shared_ptr<const KubeletConfiguration>(state->engine, &state->engine->config())});
}

std::vector<std::string> ClusterPublishers::Warnings() const {
  std::vector<std::string> out;
  for (const auto& publisher : publishers_)
    if (std::string warning = publisher->Warning(); !warning.empty()) out.push_back(std::move(warning));
  return out;
}

std::map<std::string, PublishFigures> ClusterPublishers::Figures() const {
  std::map<std::string, PublishFigures> out;
  for (const auto& publisher : publishers_) out.emplace(publisher->kind(), publisher->figures());
  return out;
}

void ClusterPublishers::GiveUp() {
  for (const auto& publisher : publishers_) publisher->GiveUp();
}

}  // namespace berth::daemon
