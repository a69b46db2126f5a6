#include "frontend/nri_agent/give_back.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "frontend/nri_agent/passive_handler.h"
#include "frontend/nri_agent/translate.h"
#include "host/os/event_fd.h"
#include "host/os/poll.h"
#include "rpc/nri/plugin.h"

namespace berth::nri_agent {
namespace {

constexpr os::Millis kLook{5};
/// A container that was made is started at once, or never.
constexpr os::Millis kStarting{5'000};
/// The answer with what is to be changed may be lost with a connection.
constexpr int kMostTimes = 3;

/// Answers what there is with all CPUs for each container, and lets everything else pass.
///
/// A runtime that is asked to change a container in the midst of its start or its end may wait for itself for ever
/// (containerd 1.7). So those that do not run yet wait for the next time, and our own, whose end is near, is none.
class Giver final : public PassiveHandler {
 public:
  Giver(cgroup::Tree& tree, cgroup::Cpuset all, const GiveBackOptions& options, os::EventFd asked)
      : tree_(tree), all_(std::move(all)), options_(options), asked_(std::move(asked)) {}

  /// Readable when the runtime has said once more what there is.
  int asked_fd() const { return asked_.get(); }
  void Heard() const { asked_.Clear(); }
  std::size_t count() const BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return given_.size();
  }

  void Synchronize(nri::Inventory inventory, nri::Answer<std::vector<nri::Update>> answer) override {
    std::vector<nri::Update> updates;
    for (const nri::Pod& pod : inventory.pods) Widen(pod);
    {
      const MutexLock lock(mutex_);
      starting_ = 0;
      for (const nri::Container& container : inventory.containers) {
        if (container.state == nri::ContainerState::kStopped || options_.own_groups.contains(container.id)) continue;
        if (container.state == nri::ContainerState::kCreated) {
          ++starting_;
        } else if (Needs(container)) {
          ++given_[container.id];
          updates.push_back(OnAll(container.id));
        }
      }
      asks_ = !updates.empty();
      first_ = false;
    }
    answer.Give(std::move(updates));
    asked_.Signal();
  }

  /// Nothing was asked of the runtime when it said last what there is.
  bool asked_nothing() const BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return !asks_;
  }
  /// Containers that are made and did not run then.
  std::size_t starting() const BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return starting_;
  }

 private:
  nri::Update OnAll(const std::string& id) const {
    nri::Update out{.container_id = id, .resources = {}, .ignore_failure = true};
    out.resources.cpus = FormatIds(all_.cpus);
    out.resources.mems = FormatIds(all_.mems);
    return out;
  }
  /// Those that were there at first may have less than is on record. Those made since have what is on record, which is
  /// nothing where the kubelet leaves them where they are.
  bool Needs(const nri::Container& container) const BERTH_REQUIRES(mutex_) {
    const auto cpus = CpuSet::Parse(container.resources.cpus);
    const auto mems = NodeSet::Parse(container.resources.mems);
    const bool on_all = cpus && mems && *cpus == all_.cpus && *mems == all_.mems;
    const auto given = given_.find(container.id);
    if (given != given_.end()) return given->second < kMostTimes && !on_all;
    return first_ || (!on_all && !container.resources.cpus.empty());
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
  const os::EventFd asked_;
  mutable Mutex mutex_;
  std::map<std::string, int> given_ BERTH_GUARDED_BY(mutex_);  // id -> how often
  bool first_ BERTH_GUARDED_BY(mutex_) = true;
  bool asks_ BERTH_GUARDED_BY(mutex_) = false;
  std::size_t starting_ BERTH_GUARDED_BY(mutex_) = 0;
};

/// Joins, and waits until the runtime has said what there is.
Result<std::unique_ptr<nri::Plugin>> JoinOnce(Giver& giver, const GiveBackOptions& options, os::MonoTime until) {
  giver.Heard();
  BERTH_TRY(auto plugin, nri::Plugin::Start({.index = options.index, .socket = options.socket}, giver));
  BERTH_TRY(const bool asked, os::WaitFor(giver.asked_fd(), POLLIN, until));
  if (asked) return plugin;
  return Fail(Code::kTimeout, fmt::format("no runtime has taken berthd in as a plug-in at {}: {}", options.socket,
                                          plugin->status().last_error));
}

}  // namespace

/// A runtime takes plug-ins in one after another, and changes containers before the next: so the one that joins next
/// knows that it has been done. It is not asked to change containers otherwise: containerd 1.7 takes two locks for that
/// in the order opposite to the one in which it takes them for any news of a container, and where both come together
/// no call about containers is answered any more.
Result<std::size_t> GiveBack(cgroup::Tree& tree, const GiveBackOptions& options) {
  BERTH_TRY(cgroup::Cpuset all, tree.ReadCpuset(""));
  BERTH_TRY(os::EventFd asked, os::EventFd::Open());
  Giver giver(tree, std::move(all), options, std::move(asked));
  const os::MonoTime until = os::SystemClock().Now() + options.patience;
  BERTH_TRY(auto joined, JoinOnce(giver, options, until));
  const os::MonoTime last = std::min(until, os::SystemClock().Now() + kStarting);
  while (!giver.asked_nothing() || (giver.starting() > 0 && os::SystemClock().Now() < last)) {
    if (giver.asked_nothing()) os::SleepFor(kLook);
    BERTH_TRY(joined, JoinOnce(giver, options, until));
  }
  return giver.count();
}

}  // namespace berth::nri_agent
