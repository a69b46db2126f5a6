#include "kubernetes/scheduler_server/scheduler.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <random>
#include <utility>
#include <vector>

#include "kubernetes/scheduler_extender/extender_messages.h"
#include "kubernetes/scheduler_server/extender_service.h"
#include "kubernetes/scheduler_server/side_by_side.h"
#include "rpc/http/http_server.h"

namespace berth::scheduler_server {
namespace {

const std::vector kSignals = {SIGTERM, SIGINT};

kube::WatchOptions WatchOptionsOf(Kind kind, const SchedulerOptions& options) {
  kube::WatchOptions out;
  if (kind == Kind::kNodeStates)
    out.target.resource = {.group = "berth.dev", .version = "v1alpha1", .plural = "nodestates"};
  else
    out.target.resource = {.plural = "pods"};
  // Pods that have ended are as if gone: they need not come, and not be kept in mind.
  if (kind == Kind::kPods) out.field_selector = "status.phase!=Succeeded,status.phase!=Failed";
  out.seed = std::random_device()();
  out.pace = options.pace;
  return out;
}

/// For people: what may be wrong beside what the server says. Without the query of the URL, which is another one each
/// time: the same trouble is told once.
std::string Explain(Kind kind, const kube::CallError& error) {
  std::string out = error.message;
  const std::size_t query = out.find('?');
  if (query != std::string::npos) out.erase(query, out.find(": ", query) - query);
  if (kind == Kind::kNodeStates && error.status == 404)
    out += " (NodeState is not defined in this cluster: kubectl apply -k packaging/kubernetes/kinds)";
  if (error.status == 403) out += " (the service account needs get, list and watch)";
  return out;
}

http::ServerOptions ServerOptionsOf(Service& service) {
  http::ServerOptions out;
  out.routes = service.Routes();
  out.refuse = [](int status, const std::string& why) {
    return http::Answer{.status = status, .type = "text/plain; charset=utf-8", .body = why + "\n"};
  };
  // A scheduler calls once at a time; with probes and figures that is a handful. Of callers over TCP half of them are
  // let in, which bounds the memory of their calls to 1 GiB, however wicked they are.
  out.limits = {.body = scheduler_extender::kMostCallBytes, .connections = 32, .workers = 8};
  return out;
}

class LoopScheduler final : public Scheduler {
 public:
  LoopScheduler(const SchedulerOptions& options, events::Log& log, std::unique_ptr<event_loop::Loop> loop)
      : log_(log),
        loop_(std::move(loop)),
        threads_(options.threads),
        cluster_(options.cluster, [this](std::size_t count,
                                         const std::function<void(std::size_t)>& work) { threads_.Run(count, work); }),
        service_(cluster_) {}
  LoopScheduler(const LoopScheduler&) = delete;
  LoopScheduler& operator=(const LoopScheduler&) = delete;
  ~LoopScheduler() override { cluster_.Hurry(); }

  Result<void> Begin(const SchedulerOptions& options) BERTH_REQUIRES(loop_thread) {
    BERTH_RETURN_IF_ERROR(loop_->TakeSignals(kSignals, [this](int) BERTH_REQUIRES(loop_thread) { loop_->Stop(); }));
    BERTH_TRY(http::Listener listener,
              http::ListenTcp(options.address, options.port, options.tls ? &*options.tls : nullptr));
    port_ = listener.port;
    std::vector<http::Listener> listeners;
    listeners.push_back(std::move(listener));
    BERTH_TRY(server_, http::Server::Start(ServerOptionsOf(service_), std::move(listeners)));
    for (const Kind kind : kKinds) {
      BERTH_TRY(auto watcher, kube::Watcher::Start(options.access, WatchOptionsOf(kind, options)));
      const std::string name(Name(kind));
      BERTH_RETURN_IF_ERROR(loop_->Watch(watcher->event_fd(), name,
                                         [this, kind](os::MonoTime) BERTH_REQUIRES(loop_thread) { Hear(kind); }));
      watchers_[static_cast<std::size_t>(kind)] = std::move(watcher);
    }
    loop_->Keep(
        "undecided pods", [this]() BERTH_REQUIRES(loop_thread) { return expire_at_; },
        [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) {
          constexpr os::Millis kBetween{250};
          cluster_.Expire();
          expire_at_ = now + kBetween;
        });
    return {};
  }

  Result<void> Run() override BERTH_REQUIRES(loop_thread) { return loop_->Run(); }
  void Stop() override {
    loop_->Post("stop", [this]() BERTH_REQUIRES(loop_thread) { loop_->Stop(); });
  }
  std::uint16_t port() const override { return port_; }

 private:
  void Hear(Kind kind) BERTH_REQUIRES(loop_thread) {
    kube::Watcher& watcher = *watchers_[static_cast<std::size_t>(kind)];
    for (const std::string& problem : cluster_.Take(kind, watcher.Take())) log_.Warning(problem);
    TellTrouble(kind, watcher.Trouble());
    if (!ready_ && cluster_.WhyNotReady().empty()) {
      ready_ = true;
      const ClusterFigures figures = cluster_.figures();
      log_.Info("all of the cluster is known: " + std::to_string(figures.books.nodes) + " nodes with a state");
    }
  }

  /// Once when it begins, is another one, and is over.
  void TellTrouble(Kind kind, const std::optional<kube::CallError>& trouble) BERTH_REQUIRES(loop_thread) {
    std::string& told = told_[static_cast<std::size_t>(kind)];
    std::string now = trouble ? Explain(kind, *trouble) : "";
    if (now == told) return;
    if (now.empty())
      log_.Info(std::string(Name(kind)) + " are followed again");
    else
      log_.Warning(std::string(Name(kind)) + " cannot be followed: " + now);
    cluster_.SetTrouble(kind, now);
    told = std::move(now);
  }

  events::Log& log_;
  std::unique_ptr<event_loop::Loop> loop_;
  SideBySide threads_;
  Cluster cluster_;
  Service service_;
  std::array<std::string, kKinds.size()> told_ BERTH_GUARDED_BY(loop_thread);  // trouble, by kind
  bool ready_ BERTH_GUARDED_BY(loop_thread) = false;
  os::MonoTime expire_at_ BERTH_GUARDED_BY(loop_thread){};
  std::uint16_t port_ = 0;
  std::array<std::unique_ptr<kube::Watcher>, kKinds.size()> watchers_;
  std::unique_ptr<http::Server> server_;  // last: it uses the others
};

}  // namespace

void PrepareSignals() {
  event_loop::BlockSignals(kSignals);
  std::signal(SIGPIPE, SIG_IGN);
}

Result<std::unique_ptr<Scheduler>> Scheduler::Start(SchedulerOptions options, events::Log& log) {
  BERTH_TRY(auto loop, event_loop::Loop::Open(os::SystemClock()));
  auto out = std::make_unique<LoopScheduler>(options, log, std::move(loop));
  BERTH_RETURN_IF_ERROR(out->Begin(options));
  return out;
}

}  // namespace berth::scheduler_server
