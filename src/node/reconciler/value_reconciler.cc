#include "node/reconciler/value_reconciler.h"

#include <utility>

#include "host/cgroup/pod_cgroup_values.h"
#include "host/os/volatile_file.h"
#include "host/os/whole_file.h"

namespace berth::reconciler {
namespace {

constexpr os::Millis kRepairPeriod{60'000};  // less often than CPUs and memory nodes

}  // namespace

std::string ValueReconciler::Settings() const {
  const cgroup_manager::Site& site = groups_.site();
  return cgroup::SettingsText(site.options(), site.shares().qos_reserved_memory);
}

void ValueReconciler::FindBehind() {
  const std::string& file = pods_.options().value_settings;
  kept_ = file.empty() ? Settings() : os::TextOf(file);
  if (kept_ == Settings()) return;
  const Ledger& ledger = allocations_.ledger();
  for (const auto& [uid, pod] : ledger.pods) behind_.insert(uid);
  if (behind_.empty() && groups_.qos_cgroups().Lift(ledger)) KeepSettings();  // else the first look of all does
}

/// All groups were looked at. A file that cannot be written is tried again after the next look at all of them.
void ValueReconciler::KeepSettings() {
  std::erase_if(behind_, [&](const std::string& uid) { return !allocations_.ledger().pods.contains(uid); });
  const std::string& file = pods_.options().value_settings;
  if (!behind_.empty() || (kept_ == Settings() && !unwritten_)) return;
  kept_ = Settings();
  const auto written = file.empty() ? Result<void>() : os::ReplaceVolatile(file, kept_);
  const bool told = std::exchange(unwritten_, !written);
  if (!written && !told)
    events_.Warning("FailedCgroupUpdate", allocations_.ObjectOfNode(),
                    "keep the settings that groups follow: " + written.error().message);
}

bool ValueReconciler::OnSystemdWrite(std::string_view cpuset_dir) {
  if (groups_.site().names().driver() != cgroup::Driver::kSystemd) return false;
  auto group = groups_.table().GroupOf(cpuset_dir);
  if (!group || group->empty()) return false;
  retold_.insert(*std::move(group));
  return true;
}

void ValueReconciler::LookAtRetold() {
  if (!retold_.empty() && !look_) Begin(std::exchange(retold_, {}));
}

/// One that is under way and not of all comes to its end first; this one is asked for again then.
void ValueReconciler::LookAtAll(os::MonoTime now) {
  if (now < next_repair_ || look_) return;
  next_repair_ = now + kRepairPeriod;
  Begin({});
}

/// A look that is under way ends here: this one is of everything.
void ValueReconciler::NodeChanged() { Begin({}, true); }

void ValueReconciler::Begin(std::set<std::string> only, bool quiet) {
  look_ = Look{.only = std::move(only), .quiet = quiet};
  std::vector<cgroup_manager::Repaired> repairs;
  const bool all = look_->only.empty();  // else systemd was told something, and writes what it knows of the tiers too
  Report(groups_.qos_cgroups().Update(allocations_.ledger(), all ? &repairs : nullptr));
  if (all) LimitAllPods(&repairs);
  if (all && kept_ != Settings()) Report(groups_.qos_cgroups().Lift(allocations_.ledger()));
  Tell(repairs);
}

void ValueReconciler::Work(const os::Slice& slice) {
  if (!look_) return;
  for (auto pod = pods_.pods().upper_bound(look_->done); pod != pods_.pods().end(); ++pod) {
    look_->done = pod->first;
    if (!pod->second.claimed || pod->second.Is<pods::Ending>() || pod->second.resize) continue;  // Resizer writes them
    const std::string path = groups_.table().PodPathOf(pod->second.pod);
    const auto first = look_->only.lower_bound(path);  // of the pod's groups
    if (!look_->only.empty() && (first == look_->only.end() || !first->starts_with(path))) continue;
    LookAt(pod->second.pod);
    if (slice.over()) return;
  }
  if (look_->only.empty() && !look_->failed) KeepSettings();
  look_.reset();
}

void ValueReconciler::LookAt(const Pod& pod) {
  const bool behind = behind_.contains(pod.uid);
  const auto lifted = behind ? groups_.values().Lift(allocations_.ledger(), pod) : Result<void>();
  Report(lifted);
  std::vector<cgroup_manager::Repaired> repairs;
  const auto put = groups_.values().Repair(allocations_.ledger(), pod, look_->only, repairs);
  Report(put);
  if (!behind) return Tell(repairs);
  if (lifted && put && look_->only.empty()) behind_.erase(pod.uid);
}

void ValueReconciler::Tell(const std::vector<cgroup_manager::Repaired>& repairs) {
  if (look_->quiet) return;
  for (const cgroup_manager::Repaired& repair : repairs)
    events_.Warning("CgroupRepaired", "cgroup/" + repair.path, repair.what + "; put right");
}

/// What systemd is being told is looked at again when it has answered.
void ValueReconciler::Report(const Result<void>& done) {
  if (done || done.error().code == Code::kNotFound) return;
  if (groups_.site().IsUnderWay(done.error())) return retold_.merge(std::set(groups_.values().told()));
  if (std::exchange(look_->failed, true)) return;
  events_.Warning("FailedCgroupUpdate", allocations_.ObjectOfNode(), done.error().message);
}

void ValueReconciler::LimitAllPods(std::vector<cgroup_manager::Repaired>* edited) {
  const std::string object = allocations_.ObjectOfNode();
  std::string problem = groups_.qos_cgroups().LimitAllPods(edited);
  if (!problem.empty() && limit_problem_.empty()) events_.Warning("FailedNodeAllocatableEnforcement", object, problem);
  if (problem.empty() && !limit_problem_.empty())
    events_.Normal("NodeAllocatableEnforced", object, "the memory limit of all pods is in force");
  limit_problem_ = std::move(problem);
}

}  // namespace berth::reconciler
