#include "runtime/cri/cri_specs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "base/time_text.h"

namespace berth::cri {
namespace {

/// "2MB", "1GB": how runtimes name sizes of huge pages.
std::string PageSizeName(Bytes size) {
  constexpr std::array<std::pair<int, const char*>, 3> kUnits{{{30, "GB"}, {20, "MB"}, {10, "KB"}}};
  for (const auto& [shift, unit] : kUnits)
    if (size.v >> shift > 0) return std::to_string(size.v >> shift) + unit;
  return std::to_string(size.v) + "B";
}

void PutUnified(const CgroupValues& values, Resources& out) {
  const auto put = [&](const char* file, const std::optional<Bytes>& value) {
    if (value) out.unified[file] = value->v < 0 ? "max" : std::to_string(value->v);
  };
  put("memory.min", values.memory_min);
  put("memory.low", values.memory_low);
  put("memory.high", values.memory_high);
  put("memory.swap.max", values.swap_max);
  // Runtimes make a weight of the shares by one of two formulas; runc before 1.3.2 by the older one.
  if (values.weight) out.unified["cpu.weight"] = std::to_string(*values.weight);
  if (values.oom_group) out.unified["memory.oom.group"] = *values.oom_group ? "1" : "0";
}

std::string TimeOf(std::int64_t ns) {
  return ns <= 0 ? "" : FormatNanoTime(os::WallTime(std::chrono::nanoseconds(ns)));
}

Labels LabelsOf(const runtime::StartRequest& request, std::string_view owner) {
  return {{kPodName, request.pod_name},
          {kPodNamespace, request.pod_namespace},
          {kPodUid, request.pod_uid},
          {kOwner, std::string(owner)}};
}

Namespaces NamespacesOf(const runtime::StartRequest& request) {
  Namespaces out{.host_network = request.place.host_network};
  if (const Pod* const pod = request.place.pod.get(); pod != nullptr) {
    out.host_pid = pod->host_pid;
    out.host_ipc = pod->host_ipc;
    out.shared_pid = pod->share_process_namespace;
  }
  return out;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

Labels AnnotationsOf(const runtime::StartRequest& request) {
  const Container& container = request.container;
  Labels out{{kAttempt, std::to_string(request.attempt)},
             {kHash, HashOf(container)},
             {kMessagePath,
              container.termination_message_path.empty() ? "/dev/termination-log" : container.termination_message_path},
             {kMessagePolicy, container.message_from_log ? "FallbackToLogsOnError" : "File"}};
  out.insert(request.devices.annotations.begin(), request.devices.annotations.end());
  if (request.place.pod) out[kGrace] = std::to_string(request.place.pod->termination_grace_s);
  return out;
}

}  // namespace

/// FNV-1a of how the kubelet prints the JSON of name and image: as numbers of bytes.
std::string HashOf(const Container& container) {
  const std::string json = "{\"image\":" + Quoted(container.image) + ",\"name\":" + Quoted(container.name) + "}";
  std::string printed = "([]uint8)[";
  for (const char c : json) {
    if (!printed.ends_with('[')) printed += ' ';
    printed += std::to_string(static_cast<unsigned char>(c));
  }
  printed += ']';
  std::uint32_t hash = 2'166'136'261U;
  for (const char c : printed) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  std::array<char, 8> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), hash, 16).ptr};
}

std::string LabelOf(const ContainerEntry& entry, const char* name) {
  const auto it = entry.labels.find(name);
  return it == entry.labels.end() ? "" : it->second;
}

Resources ResourcesOf(const CgroupValues& values, int oom_score_adj, bool v2) {
  Resources out;
  out.oom_score_adj = oom_score_adj;
  if (values.cpus) out.cpus = FormatIds(*values.cpus);
  if (values.mems) out.mems = FormatIds(*values.mems);
  if (values.shares) out.cpu_shares = static_cast<std::int64_t>(*values.shares);
  if (values.cpu_max) {
    out.cpu_period_us = values.cpu_max->period.count();
    out.cpu_quota_us = values.cpu_max->quota ? values.cpu_max->quota->count() : -1;
  }
  if (values.memory_max && values.memory_max->v > 0) out.memory_limit = values.memory_max->v;
  if (values.hugetlb)
    for (const auto& [size, limit] : *values.hugetlb)
      out.hugepages[PageSizeName(size)] = static_cast<std::uint64_t>(std::max<std::int64_t>(limit.v, 0));
  if (v2) PutUnified(values, out);
  return out;
}

namespace {

/// Where a container would have "no limit" (-1), the kubelet says nothing of a sandbox.
Resources OfSandbox(const CgroupValues& values) {
  Resources out = ResourcesOf(values, 0, /*v2=*/false);
  out.cpu_quota_us = std::max<std::int64_t>(out.cpu_quota_us, 0);
  return out;
}

}  // namespace

SandboxSpec SandboxOf(const runtime::StartRequest& request, std::string_view owner, std::uint32_t attempt) {
  SandboxSpec out;
  out.name = request.pod_name;
  out.namespace_ = request.pod_namespace;
  out.uid = request.pod_uid;
  out.attempt = attempt;
  out.hostname = request.place.hostname;
  out.log_directory = request.place.log_folder;
  out.cgroup_parent = request.place.pod_group;
  if (const Pod* const pod = request.place.pod.get(); pod != nullptr) {
    out.labels = pod->labels;
    out.annotations = pod->annotations;
    out.security = pod->security;
    for (const auto& [name, value] : pod->security.sysctls) out.sysctls[name] = value;
    ForEachContainer(*pod, [&](const Container& container, ContainerKind) {
      for (const ContainerPort& port : container.ports)
        if (port.host_port != 0 && !pod->host_network) out.ports.push_back(port);
    });
  }
  for (auto& [name, value] : LabelsOf(request, owner)) out.labels[name] = value;
  out.namespaces = NamespacesOf(request);
  out.privileged = request.place.privileged_pod;
  out.overhead = OfSandbox(request.place.sandbox_overhead);
  out.resources = OfSandbox(request.place.sandbox_resources);
  return out;
}

ContainerSpec ContainerOf(const runtime::StartRequest& request, std::string_view owner) {
  ContainerSpec out;
  out.name = request.container.name;
  out.attempt = static_cast<std::uint32_t>(request.attempt);
  out.user_image = request.container.image;
  out.command = request.container.command;
  out.args = request.container.args;
  out.working_dir = request.container.working_dir;
  out.env = request.env;
  for (const runtime::BoundMount& mount : request.place.mounts)
    out.mounts.push_back({.container_path = mount.container_path,
                          .host_path = mount.host_path,
                          .read_only = mount.read_only,
                          .propagation = mount.propagation,
                          .recursive_read_only = mount.recursive_read_only == "Enabled",
                          .relabel = mount.own_files});
  out.devices = request.devices.device_nodes;
  out.cdi_devices = request.devices.cdi_devices;
  out.labels = LabelsOf(request, owner);
  out.labels[kContainerName] = request.container.name;
  out.annotations = AnnotationsOf(request);
  const std::string& folder = request.place.log_folder;
  if (request.log_path.starts_with(folder + "/")) out.log_path = request.log_path.substr(folder.size() + 1);
  out.security = request.container.security;
  out.namespaces = NamespacesOf(request);
  out.stdin_open = request.container.stdin_open;
  out.stdin_once = request.container.stdin_once;
  out.tty = request.container.tty;
  return out;
}

std::string RootProblem(const SecurityContext& security, const Image& image) {
  if (!security.run_as_non_root.value_or(false)) return "";
  if (security.run_as_user) return *security.run_as_user == 0 ? "runAsNonRoot is set, and runAsUser is root" : "";
  if (image.uid) return *image.uid == 0 ? "runAsNonRoot is set, and the image runs as root; set runAsUser" : "";
  if (image.user.empty()) return "runAsNonRoot is set, and the image, which names no user, runs as root; set runAsUser";
  return "runAsNonRoot is set, and nobody knows whether the image's user " + Printable(image.user, 80) +
         ", who is no number, is root; set runAsUser";
}

std::string CdiProblem(std::string_view runtime, std::string_view version, std::optional<bool> enabled) {
  constexpr int kFirstWithCdi = 7;  // containerd 1.7
  if (!enabled.value_or(true))
    return "its devices are CDI devices, which " + Printable(runtime, 40) +
           " leaves out as it is configured; set enable_cdi = true for its CRI plug-in (containerd 1.7: "
           "[plugins.\"io.containerd.grpc.v1.cri\"]; 2.0: [plugins.'io.containerd.cri.v1.runtime']) and restart it";
  if (version.starts_with('v')) version.remove_prefix(1);
  if (runtime != "containerd" || !version.starts_with("1.")) return "";
  const std::string_view minor = version.substr(2, version.find('.', 2) - 2);
  if (ParseDecimal<int>(minor).value_or(kFirstWithCdi) >= kFirstWithCdi) return "";
  return "its devices are CDI devices, which containerd " + Printable(version, 40) +
         " does not know; upgrade to 1.7 or later, or have the plug-in answer with variables, device nodes and mounts";
}

std::optional<runtime::ContainerStatus> StatusOf(const ContainerEntry& entry) {
  const auto uid = entry.labels.find(kPodUid);
  const auto name = entry.labels.find(kContainerName);
  if (uid == entry.labels.end() || name == entry.labels.end()) return std::nullopt;
  runtime::ContainerStatus out;
  out.id = entry.id;
  out.pod_uid = uid->second;
  out.container = name->second;
  out.attempt = static_cast<int>(entry.attempt);
  out.pid = entry.pid;
  out.log_path = entry.log_path;
  out.started_at = TimeOf(entry.started_at_ns);
  switch (entry.state) {
    case ContainerEntry::State::kCreated: out.state = runtime::ContainerState::kCreating; return out;
    case ContainerEntry::State::kRunning: out.state = runtime::ContainerState::kRunning; return out;
    case ContainerEntry::State::kUnknown: out.state = runtime::ContainerState::kUnknown; return out;
    case ContainerEntry::State::kExited: break;
  }
  out.state = runtime::ContainerState::kExited;
  out.pid = 0;
  out.exit_code = entry.exit_code;
  constexpr int kFirstSignal = 128;
  constexpr int kLastSignal = 64;
  if (entry.exit_code > kFirstSignal && entry.exit_code <= kFirstSignal + kLastSignal)
    out.signal = entry.exit_code - kFirstSignal;
  out.oom_killed = entry.reason == "OOMKilled";
  out.message = entry.message;
  out.finished_at = TimeOf(entry.finished_at_ns);
  return out;
}

}  // namespace berth::cri
