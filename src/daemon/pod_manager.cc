#include "daemon/pod_manager.h"

#include <algorithm>
#include <utility>

#include "frontend/static_pods/restart.h"

namespace berth::daemon {

PodManager::PodManager(core::Node& node, pods::StaticPodOptions options, const pods::PodExecutors& executors)
    : node_(node), sync_loop_(node, std::move(options), executors), periodic_checks_(node, sync_loop_) {}

Result<void> PodManager::Start(const std::optional<checkpoint::Saved>& saved, os::MonoTime now) {
  BERTH_RETURN_IF_ERROR(node_.Recover(saved, now));
  periodic_checks_.Begin(now, node_.options().reconcile_period);
  return {};
}

void PodManager::OnSnapshot(pod_sources::Snapshot snapshot) {
  sync_loop_.manifests().Take(std::move(snapshot));
  Sync();
}

void PodManager::OnRuntime(os::MonoTime now) {
  sync_loop_.runtime_events().Poll();
  if (node_.groups().ownership().runtime_writes())
    node_.reconciler().cpus().CheckSoon(now);  // it may have written to groups: the kernel has the last word
  Sync();
}

/// Pods that were rejected or wait may get in now.
void PodManager::OnDevices() {
  if (!node_.TakeDevices()) return;
  ++turns_;
  Sync();
}

os::MonoTime PodManager::next_forgetting() const {
  const device_manager::Plugins* const plugins = node_.devices().plugins();
  return plugins != nullptr ? plugins->next_due() : os::MonoTime::max();
}

void PodManager::ForgetPlugins(os::MonoTime now) {
  if (node_.devices().plugins() != nullptr) node_.devices().plugins()->Forget(now);
}

void PodManager::OnMemoryPressure(os::MonoTime now) {
  node_.reconciler().pressure().LookSoon(now);
  Sync();
}

void PodManager::Reload(os::Millis reconcile_period, bool adopt_unknown) {
  periodic_checks_.SetPeriod(reconcile_period);
  node_.agenda().WakeAt(periodic_checks_.next_due());
  node_.Reload(reconcile_period, adopt_unknown);
}

Result<std::vector<std::string>> PodManager::Restart(const std::string& uid, os::MonoTime now) {
  auto restarted = pods::RestartContainers(node_, uid, now);
  if (restarted) Sync();
  return restarted;
}

void PodManager::StopAll() {
  sync_loop_.manifests().StopAll();
  Sync();
}

bool PodManager::idle() const {
  return !node_.allocations().saving() && std::ranges::all_of(node_.pods(), [](const auto& entry) {
    const ManagedPod& pod = entry.second;
    if (pod.Is<pods::Ending>() || pod.Is<pods::Admitted>()) return false;
    return pod.Is<pods::Done>() || !pod.lifecycle;
  });
}

os::MonoTime PodManager::next_due() const {
  if (sync_loop_.working() || node_.reconciler().working() || sync_loop_.runtime_events().working()) return {};
  return std::min(node_.agenda().next(), node_.reconciler().next_check());
}

void PodManager::Tick(os::MonoTime now) {
  const os::Clock& clock = node_.clock();
  const os::Slice slice(clock, clock.Now() + node_.options().slice);
  if (sync_loop_.runtime_events().working()) ++turns_;
  const bool all_heard = sync_loop_.runtime_events().Work(now, slice);
  node_.Reconcile(now, slice);
  if (now >= node_.agenda().next() || !node_.pool().in_force()) sync_loop_.Begin();
  if (all_heard && sync_loop_.working()) Work(now, slice);
}

void PodManager::Work(os::MonoTime now, const os::Slice& slice) {
  ++turns_;
  reconciler::PressureReconciler& pressure = node_.reconciler().pressure();
  pressure.Check(now);  // before anything is admitted
  if (!sync_loop_.Work(now, slice)) return;
  pods::Agenda& agenda = node_.agenda();
  if (!periodic_checks_.Work(now, slice)) return agenda.WakeNow();
  agenda.WakeAt(std::max(now, periodic_checks_.next_due()));
  agenda.WakeAt(std::max(now, pressure.next_due()));
  if (const auto pool = node_.pool().next_due(now)) agenda.WakeAt(*pool);
}

std::vector<std::string> PodManager::Warnings() const {
  std::vector<std::string> out = node_.Warnings();
  for (std::string& problem : sync_loop_.manifests().Problems()) out.push_back(std::move(problem));
  return out;
}

}  // namespace berth::daemon
