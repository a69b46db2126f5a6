#include "frontend/nri_preflight/containers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "frontend/nri_preflight/host_inspection.h"

namespace berth::nri_preflight {
namespace {

/// The value of a line "Name:\tvalue" of a file of proc.
std::string_view FieldOf(std::string_view text, std::string_view name) {
  for (const std::string_view line : Split(text, '\n'))
    if (line.starts_with(name)) return Trim(line.substr(name.size()));
  return {};
}

void ReadPlace(os::Fs& root, cgroup::Tree* tree, SeenContainer& seen) {
  const std::string proc = "/proc/" + std::to_string(seen.container.pid);
  const auto groups = root.Read(proc + "/cgroup");
  const std::optional<std::string> group = groups ? CpusetGroupIn(*groups) : std::nullopt;
  if (group) {
    seen.container.cgroups_path = *group;
    seen.pod.cgroup_parent = group->substr(0, group->rfind('/'));
    if (tree != nullptr && group->size() > 1)
      if (const auto held = tree->ReadCpuset(std::string_view(*group).substr(1))) {
        seen.cpus = held->cpus;
        seen.mems = held->mems;
        return;
      }
  }
  const auto status = root.Read(proc + "/status");
  if (!status) return;
  if (auto cpus = CpuSet::Parse(FieldOf(*status, "Cpus_allowed_list:"))) seen.cpus = *std::move(cpus);
  if (auto mems = NodeSet::Parse(FieldOf(*status, "Mems_allowed_list:"))) seen.mems = *std::move(mems);
}

nri::Pod AsNriShows(const cri::Sandbox& sandbox) {
  const std::size_t slash = sandbox.pod.find('/');
  nri::Pod out;
  out.id = sandbox.id;
  out.uid = sandbox.uid;
  out.name_space = sandbox.pod.substr(0, slash);
  out.name = slash == std::string::npos ? "" : sandbox.pod.substr(slash + 1);
  out.annotations = sandbox.annotations;
  return out;
}

}  // namespace

RuntimeFacts AskRuntime(const cri::Client& client) {
  RuntimeFacts out;
  out.endpoint = client.socket();
  const auto version = client.Handshake();
  if (!version) {
    out.problem = version.error().message;
    return out;
  }
  out.name = Printable(version->name, 60);
  out.version = Printable(version->version, 60);
  if (const auto driver = client.CgroupDriver(); driver && *driver) out.cgroup_driver = **driver;
  return out;
}

nri::Resources AsNriShows(const cri::Resources& resources) {
  nri::Resources out;
  if (resources.cpu_shares > 0) out.cpu_shares = static_cast<std::uint64_t>(resources.cpu_shares);
  if (resources.cpu_quota_us != 0) out.cpu_quota = resources.cpu_quota_us;
  if (resources.cpu_period_us > 0) out.cpu_period = static_cast<std::uint64_t>(resources.cpu_period_us);
  if (resources.memory_limit > 0) out.memory_limit = resources.memory_limit;
  out.cpus = resources.cpus;
  out.mems = resources.mems;
  out.hugepages = resources.hugepages;
  out.unified = resources.unified;
  return out;
}

Result<std::vector<SeenContainer>> AskContainers(const cri::Client& client, os::Fs& root, cgroup::Tree* tree) {
  BERTH_TRY(std::vector<cri::Sandbox> sandboxes, client.Sandboxes({}));
  BERTH_TRY(const std::vector<cri::ContainerEntry> listed, client.Containers({}));
  std::ranges::sort(sandboxes, {}, [](const cri::Sandbox& s) { return std::pair(s.created_at_ns, s.id); });
  std::multimap<std::string_view, const cri::ContainerEntry*> of;
  for (const cri::ContainerEntry& entry : listed)
    if (entry.state == cri::ContainerEntry::State::kRunning || entry.state == cri::ContainerEntry::State::kCreated)
      of.emplace(entry.sandbox_id, &entry);
  std::vector<SeenContainer> out;
  for (const cri::Sandbox& sandbox : sandboxes) {
    if (!sandbox.ready) continue;
    const auto [begin, end] = of.equal_range(sandbox.id);
    for (auto it = begin; it != end; ++it) {
      const auto status = client.Status(it->second->id);
      if (!status) continue;
      SeenContainer seen{
          .pod = AsNriShows(sandbox), .container = {}, .told = status->resources.has_value(), .cpus = {}, .mems = {}};
      seen.container.id = status->id;
      seen.container.pod_id = sandbox.id;
      seen.container.name = status->name;
      seen.container.pid = static_cast<std::uint32_t>(std::max(0, status->pid));
      if (status->resources) seen.container.resources = AsNriShows(*status->resources);
      if (seen.container.pid > 0) ReadPlace(root, tree, seen);
      out.push_back(std::move(seen));
    }
  }
  return out;
}

}  // namespace berth::nri_preflight
