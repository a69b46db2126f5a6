#include "beside/give_back.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "beside/bystander.h"
#include "beside/translate.h"
#include "nri/plugin.h"
#include "os/event_fd.h"
#include "os/poll.h"

namespace berth::beside {
namespace {

constexpr os::Millis kLook{5};
/// A container that was made is started at once, or never.
constexpr os::Millis kStarting{5'000};

/// Answers the one question of what there is, and lets everything else pass.
///
/// A runtime that is asked to change a container in the midst of its start or its end may wait for itself for ever
/// (containerd 1.7). So those that do not run yet wait until they do, and our own, whose end is near, is none.
class Giver final : public Bystander {
 public:
  Giver(cgroup::Tree& tree, cgroup::Cpuset all, const GiveBackOptions& options, os::EventFd done)
      : tree_(tree), all_(std::move(all)), options_(options), done_(std::move(done)) {}

  int done_fd() const { return done_.get(); }
  std::size_t count() const BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return count_;
  }

  void Synchronize(nri::Inventory inventory, nri::Answer<std::vector<nri::Update>> answer) override {
    std::vector<nri::Update> updates;
    for (const nri::Pod& pod : inventory.pods) Widen(pod);
    {
      const MutexLock lock(mutex_);
      for (const nri::Container& container : inventory.containers) {
        if (container.state == nri::ContainerState::kStopped || options_.own_groups.contains(container.id)) continue;
        if (container.state == nri::ContainerState::kCreated) {
          starting_.insert(container.id);
        } else {
          updates.push_back(OnAll(container.id));
        }
      }
      count_ = updates.size();
    }
    answer.Give(std::move(updates));
    done_.Signal();
  }
  void Happened(nri::Event event, nri::Pod, std::optional<nri::Container> container) override {
    if (!container || (event != nri::Event::kPostStartContainer && event != nri::Event::kRemoveContainer)) return;
    const MutexLock lock(mutex_);
    if (starting_.erase(container->id) == 0 || event == nri::Event::kRemoveContainer) return;
    started_.push_back(OnAll(container->id));
    ++count_;
  }

  /// Containers that have begun to run since. nullopt: no more will.
  std::optional<std::vector<nri::Update>> TakeStarted() BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (starting_.empty() && started_.empty()) return std::nullopt;
    return std::exchange(started_, {});
  }

 private:
  nri::Update OnAll(const std::string& id) const {
    nri::Update out{.container_id = id, .resources = {}, .ignore_failure = true};
    out.resources.cpus = FormatIds(all_.cpus);
    out.resources.mems = FormatIds(all_.mems);
    return out;
  }
  /// The sandbox's group, which no container is. One that is gone has nothing to give back.
  void Widen(const nri::Pod& pod) {
    const auto path = GroupOf(pod, options_.root);
    if (!path || pod.id.empty()) return;
    const auto groups = tree_.Children(*path);
    if (!groups) return;
    CgroupValues values;
    values.cpus = all_.cpus;
    for (const std::string& group : *groups)
      if (group.contains(pod.id)) static_cast<void>(tree_.Write(*path + "/" + group, values));
  }

  cgroup::Tree& tree_;
  const cgroup::Cpuset all_;
  const GiveBackOptions& options_;
  const os::EventFd done_;
  mutable Mutex mutex_;
  std::size_t count_ BERTH_GUARDED_BY(mutex_) = 0;
  std::set<std::string> starting_ BERTH_GUARDED_BY(mutex_);    // ids
  std::vector<nri::Update> started_ BERTH_GUARDED_BY(mutex_);  // of those
};

}  // namespace

Result<std::size_t> GiveBack(cgroup::Tree& tree, const GiveBackOptions& options) {
  BERTH_TRY(cgroup::Cpuset all, tree.ReadCpuset(""));
  BERTH_TRY(os::EventFd done, os::EventFd::Open());
  Giver giver(tree, std::move(all), options, std::move(done));
  const os::MonoTime until = os::SystemClock().Now() + options.patience;
  BERTH_TRY(const auto plugin, nri::Plugin::Start({.index = options.index, .socket = options.socket}, giver));
  const auto asked = os::WaitFor(giver.done_fd(), POLLIN, until);
  if (!asked) return std::unexpected(asked.error());
  if (!*asked)
    return Fail(Code::kTimeout, fmt::format("no runtime has taken berthd in as a plug-in at {}: {}", options.socket,
                                            plugin->status().last_error));
  while (!plugin->status().joined && os::SystemClock().Now() < until) os::SleepFor(kLook);
  // The runtime changes containers after the answer; it has done so when it answers a call of ours.
  BERTH_RETURN_IF_ERROR(plugin->UpdateContainers({}, until));
  const os::MonoTime last = std::min(until, os::SystemClock().Now() + kStarting);
  for (auto started = giver.TakeStarted(); started; started = giver.TakeStarted()) {
    if (!started->empty()) BERTH_RETURN_IF_ERROR(plugin->UpdateContainers(*started, until));
    if (os::SystemClock().Now() >= last) break;
    os::SleepFor(kLook);
  }
  return giver.count();
}

}  // namespace berth::beside
