#include "runtime/process/held.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "runtime/process/process_spec.h"

namespace berth::runtime {
namespace {

bool IsSafeName(std::string_view name) {
  return !name.empty() && name[0] != '.' && name.size() <= kMaxId && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  });
}

/// Nodes of devices that have another path here than the host's are mounted there; the others it sees anyway.
std::vector<os::Volume> VolumesOf(const std::vector<BoundMount>& mounts, const std::vector<DeviceNode>& nodes) {
  std::vector<os::Volume> out;
  for (const DeviceNode& node : nodes)
    if (node.container_path != node.host_path) out.push_back({.source = node.host_path, .target = node.container_path});
  for (const BoundMount& mount : mounts) {
    os::Volume& volume = out.emplace_back();
    volume.source = mount.host_path;
    volume.target = mount.container_path;
    volume.read_only = mount.read_only;
    if (mount.propagation == "HostToContainer") volume.propagation = os::Volume::Propagation::kFromHost;
    if (mount.propagation == "Bidirectional") volume.propagation = os::Volume::Propagation::kBoth;
  }
  return out;
}

/// Numbers are in range: manifests are held to it.
void PutIdentity(const SecurityContext& from, ShimRequest& out) {
  out.added_capabilities = from.add_capabilities;
  out.dropped_capabilities = from.drop_capabilities;
  if (from.run_as_user) out.user = static_cast<std::uint32_t>(*from.run_as_user);
  if (from.run_as_group) out.group = static_cast<std::uint32_t>(*from.run_as_group);
  for (const std::int64_t group : from.supplemental_groups) out.groups.push_back(static_cast<std::uint32_t>(group));
  if (from.fs_group) out.groups.push_back(static_cast<std::uint32_t>(*from.fs_group));
  out.only_those_groups = from.supplemental_groups_policy == "Strict";
  out.read_only_root = from.read_only_root.value_or(false);
  out.seccomp = from.seccomp;
  out.seccomp_profile = from.seccomp_localhost;
  out.no_new_privileges = !from.allow_privilege_escalation.value_or(true);
}

}  // namespace

Result<void> CheckRequest(const StartRequest& request) {
  const std::string who =
      "container '" + Printable(request.container.name) + "' of pod '" + Printable(request.pod_uid) + "'";
  if (!IsSafeName(request.pod_uid) || !IsSafeName(request.container.name) || request.attempt < 0)
    return Fail(Code::kInvalid, who + ": pod uid and container name must consist of letters, digits, '-', '.' and '_'");
  if (request.container.command.empty() && request.container.args.empty())
    return Fail(Code::kInvalid, who + " has no command: set spec.containers[].command (processes have no image)");
  if (!request.log_path.starts_with('/') || request.log_max_files < 1)
    return Fail(Code::kInvalid, who + ": the log path must be absolute and keep at least one file");
  if (request.cgroup.v2 && request.cgroup.dirs.size() != 1)
    return Fail(Code::kInvalid, who + ": exactly one cgroup directory is needed on cgroup v2");
  if (const std::string problem = ProcessProblem(request.container.security); !problem.empty())
    return Fail(Code::kInvalid, who + ": " + problem);
  if (const std::vector<std::string>& cdi = request.devices.cdi_devices; !cdi.empty())
    return Fail(Code::kInvalid, who + ": its devices come as the CDI device " + Printable(cdi.front(), 120) +
                                    ", which takes a container runtime; set runtime: cri, or have the plug-in "
                                    "answer with variables, device nodes and mounts");
  for (const BoundMount& mount : request.place.mounts)
    if (mount.propagation == "Bidirectional" && !request.container.security.privileged.value_or(false))
      return Fail(Code::kInvalid, who + ": mountPropagation Bidirectional is for privileged containers only");
  std::string words = request.container.working_dir;
  for (const std::string& word : request.container.command) words += word;
  for (const std::string& word : request.container.args) words += word;
  if (words.find('\0') != std::string::npos)
    return Fail(Code::kInvalid, who + ": command, args and workingDir cannot hold a zero byte");
  for (const auto& [name, value] : request.env) {
    if (name.empty() || name.find('=') != std::string::npos || (name + value).find('\0') != std::string::npos)
      return Fail(Code::kInvalid, who + ": '" + Printable(name) + "' cannot be an environment variable");
  }
  return {};
}

std::string MakeId(const StartRequest& request) {
  char moment[24];
  std::snprintf(moment, sizeof moment, "%llx",
                static_cast<unsigned long long>(os::SystemClock().Wall().time_since_epoch().count()));
  return request.pod_uid + "." + request.container.name + "." + std::to_string(request.attempt) + "." + moment;
}

ShimRequest MakeShimRequest(const StartRequest& request, std::string id) {
  ShimRequest out;
  out.id = std::move(id);
  out.pod_uid = request.pod_uid;
  out.pod_namespace = request.pod_namespace;
  out.pod_name = request.pod_name;
  out.container = request.container.name;
  out.attempt = request.attempt;
  out.argv = request.container.command;
  out.argv.insert(out.argv.end(), request.container.args.begin(), request.container.args.end());
  for (const auto& [name, value] : request.env) out.env.push_back(name + "=" + value);
  out.working_dir = request.container.working_dir;
  out.cgroup = request.cgroup;
  out.oom_score_adj = request.oom_score_adj;
  out.privileged = request.container.security.privileged.value_or(false);
  PutIdentity(request.container.security, out);
  out.volumes = VolumesOf(request.place.mounts, request.devices.device_nodes);
  out.log_path = request.log_path;
  out.log_max_bytes = request.log_max_bytes;
  out.log_max_files = request.log_max_files;
  return out;
}

void DropWords(ShimRequest& request) {
  request.argv = {};
  request.env = {};
  request.seccomp_filter = {};
}

ContainerStatus StatusOf(const Held& held) {
  ContainerStatus status;
  status.id = held.request.id;
  status.pod_uid = held.request.pod_uid;
  status.container = held.request.container;
  status.attempt = held.request.attempt;
  status.log_path = held.request.log_path;
  status.pid = held.state.pid;
  status.message = held.state.message;
  status.started_at = held.state.started_at;
  status.finished_at = held.state.finished_at;
  status.warnings = held.state.warnings;
  if (held.creating) {
    status.state = ContainerState::kCreating;
    return status;
  }
  switch (held.state.phase) {
    case ShimPhase::kRunning: status.state = ContainerState::kRunning; break;
    case ShimPhase::kExited:
      status.state = ContainerState::kExited;
      status.exit_code = held.state.exit_code;
      status.signal = held.state.signal;
      status.oom_killed = held.state.oom_killed;
      break;
    case ShimPhase::kReady:
    case ShimPhase::kStarting:
    case ShimPhase::kFailed: status.state = ContainerState::kUnknown; break;
  }
  return status;
}

void Lose(Held& held, std::string message) {
  held.shim.reset();
  held.main.reset();
  held.state.phase = ShimPhase::kFailed;
  held.state.message = std::move(message);
  held.state.finished_at = os::FormatTime(os::SystemClock().Wall());
}

}  // namespace berth::runtime
