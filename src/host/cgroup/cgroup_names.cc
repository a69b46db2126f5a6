#include "host/cgroup/cgroup_names.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "host/cgroup/group_dirs.h"

namespace berth::cgroup {
namespace {

constexpr std::string_view kPods = "kubepods";
constexpr std::string_view kPodPrefix = "pod";
constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kScope = ".scope";
constexpr std::string_view kScopePrefix = "berth-";

std::string Replaced(std::string text, char from, char to) {
  std::ranges::replace(text, from, to);
  return text;
}

std::string_view LastPart(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// "a-b-c" -> "/a.slice/a-b.slice/a-b-c.slice", from the component after the first `skip` on.
std::string Slices(const std::vector<std::string>& components, std::size_t skip) {
  std::string path;
  std::string name;
  for (std::size_t i = 0; i < components.size(); ++i) {
    name += (name.empty() ? "" : "-") + Replaced(components[i], '-', '_');
    if (i < skip) continue;
    path += "/";
    path += name;
    path += kSlice;
  }
  return path;
}

}  // namespace

std::string_view Name(Driver driver) { return driver == Driver::kSystemd ? "systemd" : "cgroupfs"; }

Result<std::string> PathOf(Driver driver, const std::vector<std::string>& components) {
  for (const std::string& component : components) {
    if (component.empty() || component.find_first_of("/_") != std::string::npos)
      return Fail(Code::kInvalid, "'" + Printable(component, 80) +
                                      "' cannot be a component of a cgroup's name: '/' and '_' are not allowed");
  }
  if (components.empty()) return "/";
  return driver == Driver::kSystemd ? Slices(components, 0) : "/" + Join(components, "/");
}

std::vector<std::string> ComponentsOf(Driver driver, std::string_view path) {
  std::vector<std::string> out;
  if (driver == Driver::kCgroupfs) {
    for (const std::string_view part : Split(path, '/'))
      if (!part.empty()) out.emplace_back(part);
    return out;
  }
  std::string_view name = LastPart(path);
  if (name.ends_with(kSlice)) name.remove_suffix(kSlice.size());
  for (const std::string_view part : Split(name, '-'))
    if (!part.empty()) out.push_back(Replaced(std::string(part), '_', '-'));
  return out;
}

Result<Names> Names::Make(Driver driver, std::string_view cgroup_root, bool per_qos) {
  Names out;
  out.driver_ = driver;
  out.per_qos_ = per_qos;
  out.root_components_ = ComponentsOf(Driver::kCgroupfs, cgroup_root);
  if (driver == Driver::kCgroupfs) {
    out.root_ = "/" + Join(out.root_components_, "/");
    return out;
  }
  auto root = PathOf(driver, out.root_components_);
  if (!root) return Wrap(std::move(root).error(), "cgroup root '" + Printable(cgroup_root) + "'");
  out.root_ = *std::move(root);
  return out;
}

std::string Names::Below(const std::vector<std::string>& components) const {
  if (components.empty()) return "";
  if (driver_ == Driver::kCgroupfs) return Join(components, "/");
  std::vector<std::string> all = root_components_;
  all.insert(all.end(), components.begin(), components.end());
  return Slices(all, root_components_.size()).substr(1);
}

std::vector<QosClass> Names::Tiers() const {
  if (!per_qos_) return {QosClass::kGuaranteed};
  return {QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort};
}

std::string Names::Qos(QosClass qos) const {
  if (!per_qos_) return "";
  switch (qos) {
    case QosClass::kBurstable: return Below({std::string(kPods), "burstable"});
    case QosClass::kBestEffort: return Below({std::string(kPods), "besteffort"});
    case QosClass::kGuaranteed: break;
  }
  return Below({std::string(kPods)});
}

std::string Names::Pod(QosClass qos, std::string_view uid) const {
  std::vector<std::string> components;
  if (per_qos_) components.emplace_back(kPods);
  if (per_qos_ && qos == QosClass::kBurstable) components.emplace_back("burstable");
  if (per_qos_ && qos == QosClass::kBestEffort) components.emplace_back("besteffort");
  components.push_back(std::string(kPodPrefix) + std::string(uid));
  return Below(components);
}

std::string Names::Container(std::string_view pod_path, std::string_view name) const {
  std::string out = std::string(pod_path) + "/";
  if (driver_ == Driver::kCgroupfs) return out + std::string(name);
  const std::string uid = PodUid(LastPart(pod_path)).value_or("");
  return out + std::string(kScopePrefix) + uid + "-" + std::string(name) + std::string(kScope);
}

namespace {

/// systemd keeps processes in scopes, and each scope in a slice that lies in those it is named after.
Result<void> CheckScope(std::string_view path, std::vector<std::string> parts) {
  const std::string scope = std::move(parts.back());
  parts.pop_back();
  const std::string slices = "/" + Join(parts, "/");
  const bool top = parts.empty();
  const auto named = PathOf(Driver::kSystemd, ComponentsOf(Driver::kSystemd, slices));
  if (scope.ends_with(kScope) && scope.size() > kScope.size() && (top || (named && *named == slices))) return {};
  return Fail(Code::kInvalid, "'" + Printable(path) +
                                  "' is no scope, and with the systemd driver this has to be one: " +
                                  "name it with its slices, as in /host.slice/host-berth.slice/berthd.scope");
}

}  // namespace

/// `path` as seen from the root.
Result<std::string> Names::BelowRoot(std::string_view path) const {
  const std::vector<std::string> parts = ComponentsOf(Driver::kCgroupfs, path);
  for (const std::string& part : parts) BERTH_RETURN_IF_ERROR(CheckComponent(part));
  const std::vector<std::string> root = ComponentsOf(Driver::kCgroupfs, root_);
  if (parts.size() <= root.size() || !std::equal(root.begin(), root.end(), parts.begin()))
    return Fail(Code::kInvalid, "'" + Printable(path) + "' is no group below the cgroup root " + root_ +
                                    ": name one there, or choose another cgroupRoot");
  const std::string& first = parts[root.size()];
  if (per_qos_ ? first == Qos(QosClass::kGuaranteed) : PodUid(first).has_value())
    return Fail(Code::kInvalid, "'" + Printable(path) + "' lies where the groups of pods are: name another group");
  if (driver_ == Driver::kSystemd) BERTH_RETURN_IF_ERROR(CheckScope(path, parts));
  return Join(std::vector(parts.begin() + static_cast<std::ptrdiff_t>(root.size()), parts.end()), "/");
}

Result<void> Names::NameOwn(std::string_view path) {
  BERTH_TRY(own_, BelowRoot(path));
  return {};
}

Result<void> Names::NameRuntime(std::string_view path) {
  BERTH_TRY(runtime_, BelowRoot(path));
  return {};
}

std::string Names::Own() const {
  if (!own_.empty()) return own_;
  if (driver_ == Driver::kCgroupfs) return "berth";
  // Units have one name space: two roots need two names.
  std::string name = "berth";
  for (const std::string& component : root_components_) name += "-" + Replaced(component, '-', '_');
  return name + std::string(kScope);
}

std::optional<std::string> Names::PodUid(std::string_view group) const {
  if (driver_ == Driver::kCgroupfs) {
    if (!group.starts_with(kPodPrefix)) return std::nullopt;
    return std::string(group.substr(kPodPrefix.size()));
  }
  if (!group.ends_with(kSlice)) return std::nullopt;
  const std::vector<std::string> components = ComponentsOf(Driver::kSystemd, group);
  if (components.empty() || !components.back().starts_with(kPodPrefix)) return std::nullopt;
  return components.back().substr(kPodPrefix.size());
}

std::optional<std::string> Names::ContainerName(std::string_view uid, std::string_view group) const {
  if (driver_ == Driver::kCgroupfs) return std::string(group);
  const std::string prefix = std::string(kScopePrefix) + std::string(uid) + "-";
  if (!group.starts_with(prefix) || !group.ends_with(kScope)) return std::nullopt;
  group.remove_prefix(prefix.size());
  group.remove_suffix(kScope.size());
  return std::string(group);
}

}  // namespace berth::cgroup
