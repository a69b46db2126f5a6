#include "daemon/usage_reader.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/os/fs.h"
#include "node/eviction/thresholds.h"

namespace berth::daemon {
namespace {

using std::chrono::nanoseconds;

std::optional<GroupUsage> UsageAt(cgroup::Tree& tree, const std::string& path) {
  if (path.empty()) return std::nullopt;
  const auto usage = tree.Usage(path);
  return usage ? *usage : std::nullopt;  // it went while it was read
}

/// With memory by node where there are several. Containers first, as Read() has it.
PodUsage UsageOfPod(cgroup::Tree& tree, const LoopState& state, const PodSnapshot& pod) {
  PodUsage out{.pod = pod.view, .usage = {}, .containers = {}};
  for (const ContainerView& container : pod.view->containers) {
    if (container.phase != ContainerPhase::kRunning || !container.place) continue;
    auto usage = UsageAt(tree, container.place->cgroup);
    if (!usage) continue;
    if (state.node.machine->nodes.size() > 1)
      usage->numa = tree.MemoryByNode(container.place->cgroup).value_or(std::map<NumaId, Bytes>());
    out.containers[container.name] = *std::move(usage);
  }
  if (const auto path = state.groups->groups.pods.find(pod.view->uid); path != state.groups->groups.pods.end())
    out.usage = UsageAt(tree, path->second).value_or(GroupUsage());
  return out;
}

template <class T>
void AddUp(std::optional<T>& sum, const std::optional<T>& part) {
  if (!part) return;
  if (sum)
    *sum += *part;
  else
    sum = part;
}

/// Guaranteed pods have no group of their own. Not their CPU time: it would go back when a pod goes.
GroupUsage SumOf(const std::vector<PodUsage>& pods, QosClass qos) {
  GroupUsage out;
  for (const PodUsage& pod : pods) {
    if (pod.pod->qos != qos) continue;
    AddUp(out.memory, pod.usage.memory);
    AddUp(out.working_set, pod.usage.working_set);
    AddUp(out.anonymous, pod.usage.anonymous);
    AddUp(out.swap, pod.usage.swap);
    AddUp(out.processes, pod.usage.processes);
    AddUp(out.cores, pod.usage.cores);
  }
  return out;
}

const GroupUsage* FindGroup(const std::map<std::string, GroupUsage>& groups, const std::string& name) {
  const auto it = groups.find(name);
  return it == groups.end() ? nullptr : &it->second;
}

double Part(nanoseconds time, nanoseconds span) {
  return span.count() > 0 ? static_cast<double>(time.count()) / static_cast<double>(span.count()) : 0;
}

void AddAllRates(const NodeUsage& before, NodeUsage& now) {
  const nanoseconds span = now.clock - before.clock;
  AddRates(&before.host.all, span, now.host.all);
  for (auto& [id, cpu] : now.host.cpus)
    if (const auto was = before.host.cpus.find(id); was != before.host.cpus.end() && cpu.time >= was->second.time)
      cpu.used = std::min(1.0, Part(cpu.time - was->second.time, span));
  for (auto& [name, group] : now.groups) AddRates(FindGroup(before.groups, name), span, group);
  std::map<std::string_view, const PodUsage*> pods;
  for (const PodUsage& pod : before.pods) pods.emplace(pod.pod->uid, &pod);
  for (PodUsage& pod : now.pods) {
    const auto found = pods.find(pod.pod->uid);
    if (found == pods.end()) continue;
    AddRates(&found->second->usage, span, pod.usage);
    for (auto& [name, container] : pod.containers)
      AddRates(FindGroup(found->second->containers, name), span, container);
  }
}

/// As the kubelet that berthd decides as counts them.
void CountHugePages(eviction::HugePageCounting how, HostUsage& host) {
  if (how == eviction::HugePageCounting::kApart) return;
  const Bytes pages = std::exchange(host.huge_pages, Bytes());
  if (how == eviction::HugePageCounting::kAvailable) return;
  if (host.all.memory) *host.all.memory += pages;
  if (host.all.working_set) *host.all.working_set += pages;
}

}  // namespace

void AddRates(const GroupUsage* before, nanoseconds span, GroupUsage& now) {
  if (before == nullptr || !before->cpu || !now.cpu || *now.cpu < *before->cpu || span.count() <= 0) return;
  now.cores = Part(*now.cpu - *before->cpu, span);
}

/// What is in a group is read before the group: the times of a pod are not less than those of its containers.
Result<std::shared_ptr<const NodeUsage>> UsageReader::Read(const NodeUsage* before) const {
  const std::shared_ptr<const LoopState> state = published_.Get();
  BERTH_TRY(const std::unique_ptr<cgroup::Tree> tree, open_());
  auto out = std::make_shared<NodeUsage>();
  out->at = clock_.Wall();
  out->clock = clock_.Now().time_since_epoch();
  out->node_name = state->node.status->node_name;
  for (const PodSnapshot& pod : state->node.pods)
    if (state->groups->groups.pods.contains(pod.view->uid)) out->pods.push_back(UsageOfPod(*tree, *state, pod));
  const cgroup::Names& names = state->groups->site.names;
  const std::array<std::pair<const char*, std::string>, 4> groups = {
      std::pair("burstable", names.Qos(QosClass::kBurstable)),
      std::pair("besteffort", names.Qos(QosClass::kBestEffort)), std::pair("pods", names.Qos(QosClass::kGuaranteed)),
      std::pair("berthd", names.Own())};
  for (const auto& [name, path] : groups)
    if (auto usage = UsageAt(*tree, path)) out->groups[name] = *std::move(usage);
  BERTH_TRY(auto host, tree->UsageOfHost(NodeIds(*state->node.machine)));
  if (host) out->host = *std::move(host);
  CountHugePages(eviction::HugePageCountingOf(state->engine->config(), state->engine->kubelet()), out->host);
  if (before != nullptr && out->clock - before->clock <= kLongestSpan) AddAllRates(*before, *out);
  if (!out->groups.empty()) out->groups["guaranteed"] = SumOf(out->pods, QosClass::kGuaranteed);
  return out;
}

Result<std::shared_ptr<const NodeUsage>> UsageReader::Get() {
  std::shared_ptr<const NodeUsage> before;
  {
    const MutexLock lock(mutex_);
    while (reading_) done_.Wait(mutex_);
    if (last_ && clock_.Now().time_since_epoch() - last_->clock < kFresh) return last_;
    reading_ = true;
    before = last_;
  }
  auto read = Read(before.get());
  const MutexLock lock(mutex_);
  reading_ = false;
  if (read) last_ = *read;
  done_.NotifyAll();
  return read;
}

metrics::ProcessFigures OwnFigures() {
  metrics::ProcessFigures out;
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0) {
    const auto time = [](const timeval& t) {
      return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
    };
    out.cpu = time(used.ru_utime) + time(used.ru_stime);
  }
  const auto root = os::OpenFs("/");
  const auto text = root ? (*root)->Read("proc/self/statm") : std::unexpected(root.error());
  const std::vector<std::string_view> words = text ? SplitWords(*text) : std::vector<std::string_view>();
  const auto pages = words.size() > 1 ? ParseDecimal<std::int64_t>(words[1]) : std::nullopt;
  if (pages) out.resident = Bytes{*pages * ::sysconf(_SC_PAGESIZE)};
  return out;
}

}  // namespace berth::daemon
