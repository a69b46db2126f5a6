#include "daemon/pod_specs.h"

#include <optional>
#include <utility>

#include "kubernetes/kube_client/change.h"
#include "kubernetes/kube_client/kube_client.h"
#include "manifest/manifest.h"
#include "manifest/mirror_pod.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kBetweenTries{5'000};
constexpr std::size_t kAtOnce = 16;  // changes in a turn of the loop

}  // namespace

PodSpecs::PodSpecs(event_loop::Loop& loop, event_loop::Executor& executor, PodSpecsOptions options, PodSpecsSink sink)
    : loop_(loop), tasks_(executor), options_(std::move(options)), sink_(std::move(sink)) {}

PodSpecs::~PodSpecs() {
  if (watcher_) loop_.Forget(watcher_->event_fd());
}

void PodSpecs::Tick(os::MonoTime now) {
  if (now < next_try_) return;
  next_try_ = os::MonoTime::max();  // until that is over
  tasks_.Submit<kube::Access>("pod specs", options_.access,
                              [this](Result<kube::Access> access) BERTH_REQUIRES(loop_thread) {
                                if (access)
                                  Begin(*std::move(access));
                                else
                                  TryAgain(access.error().message);
                              });
}

void PodSpecs::TryAgain(const std::string& why) {
  next_try_ = os::SystemClock().Now() + kBetweenTries;
  TellState(why);
}

void PodSpecs::Begin(kube::Access access) {
  kube::WatchOptions watch;
  watch.target.resource.plural = "pods";
  watch.field_selector = "spec.nodeName=" + options_.node_name;
  watch.selective = true;
  watch.seed = std::hash<std::string>()(options_.node_name);
  watch.pace = options_.pace;
  auto watcher = kube::Watcher::Start(std::move(access), std::move(watch));
  if (!watcher) return TryAgain(watcher.error().message);
  watcher_ = *std::move(watcher);
  if (auto watched =
          loop_.Watch(watcher_->event_fd(), "pod specs", [this](os::MonoTime) BERTH_REQUIRES(loop_thread) { Hear(); });
      !watched) {
    watcher_.reset();
    TryAgain(watched.error().message);
  }
}

void PodSpecs::Hear() {
  for (const kube::Change& change : watcher_->Take(kAtOnce)) Take(change);
  const auto trouble = watcher_->Trouble();
  TellState(trouble ? trouble->message : "");
}

void PodSpecs::Take(const kube::Change& change) {
  const kube::ObjectKey& key = change.object.key;
  switch (change.kind) {
    case kube::Change::Kind::kSynced: synced_ = true; return;
    case kube::Change::Kind::kGone: return sink_.gone(key.namespace_, key.name);
    case kube::Change::Kind::kSet: break;
  }
  auto pod = manifest::ParsePodJson(change.object.json, "Pod");
  if (!pod) {
    sink_.tell(true, "PodSpecsUnknown",
               "pod " + key.namespace_ + "/" + key.name + " cannot be read: " + pod.error().message);
    return sink_.gone(key.namespace_, key.name);
  }
  pod->uid = manifest::UidOnNode(*pod);
  sink_.set(*pod);
}

/// `trouble`: why the server cannot be followed.
void PodSpecs::TellState(const std::string& trouble) {
  const bool follows = synced_ && trouble.empty();
  const bool was_told = !told_.empty();
  if (trouble.empty())
    told_ = "";
  else if (std::string now =
               "the specs of pods cannot be followed at the API server, what new containers request is "
               "inferred from what the runtime shows: " +
               trouble;
           now != told_) {
    told_ = std::move(now);
    sink_.tell(true, "PodSpecsUnknown", told_);
  }
  if (follows && was_told) sink_.tell(false, "PodSpecsFollowed", "the API server tells the specs of pods again");
  if (follows != follows_ || !trouble.empty()) sink_.follows(follows);
  follows_ = follows;
}

}  // namespace berth::daemon
