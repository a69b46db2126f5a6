// Daemon: what a cluster is told of the node.
#include <functional>
#include <string>
#include <utility>

#include "daemon/daemon.h"
#include "kubernetes/kube_client/access.h"

namespace berth::daemon {

/// Files are read by the jobs that write: an API server or a kubeconfig that is not there yet keeps no pod waiting.
Result<void> Daemon::OpenPublishers(const std::string& version) {
  if (!settings_.berth.publish) return {};
  constexpr std::size_t kCalls = 2;
  BERTH_TRY(publish_calls_, event_loop::Workers::Start(*loop_, {.most_threads = kCalls}));
  const config::PublishSettings& publish = *settings_.berth.publish;
  const std::string& node = settings_.berth.node_name;
  const auto connect = [publish]() -> Result<std::unique_ptr<kube::Client>> {
    BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
    BERTH_TRY(kube::Access access, kube::LoadOwnAccess(*fs, publish.kubeconfig));
    return kube::Client::Make(std::move(access), {.retries = 0});  // a publisher has a pace of its own
  };
  const auto tell = [this](bool warning, const std::string& reason, const std::string& message) {
    TellOfNode(warning, reason, message);
  };
  const auto open = [&](node_publisher::Kind kind) {
    auto writer = std::make_unique<node_publisher::Writer>(
        node_publisher::WriterOptions{.kind = kind, .node = node, .version = version}, connect);
    publishers_.push_back(std::make_unique<node_publisher::Publisher>(
        std::move(writer), *publish_calls_, os::SystemClock(),
        node_publisher::PublisherOptions{.seed = std::hash<std::string>()(node) + publishers_.size()}, tell));
    node_publisher::Publisher& opened = *publishers_.back();
    loop_->Keep(
        "publishing", [&opened] { return opened.next_due(); }, [&opened](os::MonoTime now) { opened.Tick(now); });
  };
  if (publish.topology) open(node_publisher::Kind::kTopology);
  if (publish.state) open(node_publisher::Kind::kState);
  snapshots_->AddWarnings([this] {
    std::vector<std::string> out;
    for (const auto& publisher : publishers_)
      if (std::string warning = publisher->Warning(); !warning.empty()) out.push_back(std::move(warning));
    return out;
  });
  snapshots_->set_published([this] {
    std::map<std::string, PublishFigures> out;
    for (const auto& publisher : publishers_) out.emplace(publisher->kind(), publisher->figures());
    return out;
  });
  TellPublishers(published_->Get());
  return {};
}

void Daemon::TellPublishers(const std::shared_ptr<const LoopState>& state) {
  for (const auto& publisher : publishers_)
    publisher->Changed(
        {.node = std::shared_ptr<const NodeSnapshot>(state, &state->node),
         .config = std::shared_ptr<const KubeletConfiguration>(state->engine, &state->engine->config())});
}

}  // namespace berth::daemon
