#include "runtime/cri/cri_messages.h"

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "host/os/capabilities.h"
#include "model/pod.h"

namespace berth::cri {
namespace {

/// Where the keys lead to, one below the other; null: to nothing.
nlohmann::json ValueAt(const nlohmann::json& from, std::initializer_list<const char*> keys) {
  const nlohmann::json* at = &from;
  for (const char* const key : keys) {
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return *at;
}

void PutNamespaces(const Namespaces& from, pb::NamespaceOption& to) {
  to.set_network(from.host_network ? pb::NODE : pb::POD);
  to.set_pid(from.host_pid ? pb::NODE : from.shared_pid ? pb::POD : pb::CONTAINER);
  to.set_ipc(from.host_ipc ? pb::NODE : pb::POD);
}

template <class Message>
void PutSeLinux(const SecurityContext& from, Message& to) {
  if (!from.se_linux) return;
  pb::SELinuxOption& put = *to.mutable_selinux_options();
  put.set_user(from.se_linux->user);
  put.set_role(from.se_linux->role);
  put.set_type(from.se_linux->type);
  put.set_level(from.se_linux->level);
}

/// In both ways: runtimes before and after the profile became a message.
void PutAppArmor(const SecurityContext& from, pb::LinuxContainerSecurityContext& to) {
  if (from.app_armor.empty()) return;
  pb::SecurityProfile& put = *to.mutable_apparmor();
  put.set_profile_type(pb::SecurityProfile::Unconfined);
  to.set_apparmor_profile("unconfined");
  if (from.app_armor == "RuntimeDefault") {
    put.set_profile_type(pb::SecurityProfile::RuntimeDefault);
    to.set_apparmor_profile("runtime/default");
  } else if (from.app_armor == "Localhost") {
    put.set_profile_type(pb::SecurityProfile::Localhost);
    put.set_localhost_ref(from.app_armor_localhost);
    to.set_apparmor_profile("localhost/" + from.app_armor_localhost);
  }
}

/// As CRI writes names: runtimes put "CAP_" before what they get, and run the container without one they do not know.
std::string CapabilityForRuntime(const std::string& name) {
  const std::optional<int> number = os::CapabilityNumber(name);
  return number ? std::string(os::CapabilityName(*number)) : name;
}

void PutSecurity(const SecurityContext& from, pb::LinuxContainerSecurityContext& to) {
  to.set_privileged(from.privileged.value_or(false));
  to.set_readonly_rootfs(from.read_only_root.value_or(false));
  to.set_no_new_privs(!from.allow_privilege_escalation.value_or(true));
  if (from.run_as_user) to.mutable_run_as_user()->set_value(*from.run_as_user);
  if (from.run_as_group) to.mutable_run_as_group()->set_value(*from.run_as_group);
  for (const std::int64_t group : from.supplemental_groups) to.add_supplemental_groups(group);
  if (from.fs_group) to.add_supplemental_groups(*from.fs_group);
  if (from.supplemental_groups_policy == "Strict") to.set_supplemental_groups_policy(pb::Strict);
  for (const std::string& name : from.add_capabilities)
    to.mutable_capabilities()->add_add_capabilities(CapabilityForRuntime(name));
  for (const std::string& name : from.drop_capabilities)
    to.mutable_capabilities()->add_drop_capabilities(CapabilityForRuntime(name));
  pb::SecurityProfile& seccomp = *to.mutable_seccomp();
  seccomp.set_profile_type(pb::SecurityProfile::Unconfined);
  if (from.seccomp == "RuntimeDefault") seccomp.set_profile_type(pb::SecurityProfile::RuntimeDefault);
  if (from.seccomp == "Localhost") {
    seccomp.set_profile_type(pb::SecurityProfile::Localhost);
    seccomp.set_localhost_ref(from.seccomp_localhost);
  }
  PutSeLinux(from, to);
  PutAppArmor(from, to);
  if (from.privileged.value_or(false)) return;
  for (const char* const path : {"/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
                                 "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware"})
    to.add_masked_paths(path);
  for (const char* const path :
       {"/proc/asound", "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"})
    to.add_readonly_paths(path);
}

pb::MountPropagation PropagationOf(std::string_view text) {
  if (text == "HostToContainer") return pb::PROPAGATION_HOST_TO_CONTAINER;
  if (text == "Bidirectional") return pb::PROPAGATION_BIDIRECTIONAL;
  return pb::PROPAGATION_PRIVATE;
}

ContainerEntry::State StateOf(pb::ContainerState state) {
  switch (state) {
    case pb::CONTAINER_CREATED: return ContainerEntry::State::kCreated;
    case pb::CONTAINER_RUNNING: return ContainerEntry::State::kRunning;
    case pb::CONTAINER_EXITED: return ContainerEntry::State::kExited;
    default: return ContainerEntry::State::kUnknown;
  }
}

/// The number after "pid": in the text a runtime answers to a verbose question (containerd and CRI-O: JSON).
int PidIn(std::string_view info) {
  constexpr std::string_view kKey = "\"pid\":";
  const std::size_t at = info.find(kKey);
  if (at == std::string_view::npos) return 0;
  info = Trim(info.substr(at + kKey.size(), 16));
  return ParseDecimal<int>(info.substr(0, info.find_first_not_of("0123456789"))).value_or(0);
}

Resources TakeResources(const pb::LinuxContainerResources& from) {
  Resources out;
  out.cpu_period_us = from.cpu_period();
  out.cpu_quota_us = from.cpu_quota();
  out.cpu_shares = from.cpu_shares();
  out.memory_limit = from.memory_limit_in_bytes();
  out.cpus = from.cpuset_cpus();
  out.mems = from.cpuset_mems();
  return out;
}

Labels TakeLabels(const TextMap& from) { return {from.begin(), from.end()}; }

}  // namespace

// ---- values to messages ----

void Put(const Labels& from, TextMap& to) {
  for (const auto& [key, value] : from) to[key] = value;
}

void Put(const Resources& from, pb::LinuxContainerResources& to) {
  to.set_cpu_period(from.cpu_period_us);
  to.set_cpu_quota(from.cpu_quota_us);
  to.set_cpu_shares(from.cpu_shares);
  to.set_memory_limit_in_bytes(from.memory_limit);
  to.set_memory_swap_limit_in_bytes(from.memory_swap_limit);
  to.set_oom_score_adj(from.oom_score_adj);
  to.set_cpuset_cpus(from.cpus);
  to.set_cpuset_mems(from.mems);
  for (const auto& [size, limit] : from.hugepages) {
    pb::HugepageLimit& put = *to.add_hugepage_limits();
    put.set_page_size(size);
    put.set_limit(limit);
  }
  for (const auto& [file, value] : from.unified) (*to.mutable_unified())[file] = value;
}

void Put(const SandboxSpec& from, pb::PodSandboxConfig& to) {
  pb::PodSandboxMetadata& metadata = *to.mutable_metadata();
  metadata.set_name(from.name);
  metadata.set_namespace_(from.namespace_);
  metadata.set_uid(from.uid);
  metadata.set_attempt(from.attempt);
  if (!from.namespaces.host_network) to.set_hostname(from.hostname);  // else it shares the host's
  to.set_log_directory(from.log_directory);
  Put(from.labels, *to.mutable_labels());
  Put(from.annotations, *to.mutable_annotations());
  pb::LinuxPodSandboxConfig& of_linux = *to.mutable_linux();
  of_linux.set_cgroup_parent(from.cgroup_parent);
  pb::LinuxSandboxSecurityContext& security = *of_linux.mutable_security_context();
  security.set_privileged(from.privileged);
  security.mutable_seccomp()->set_profile_type(pb::SecurityProfile::RuntimeDefault);
  if (from.security.run_as_user) security.mutable_run_as_user()->set_value(*from.security.run_as_user);
  if (from.security.run_as_user && from.security.run_as_group)  // a group goes with a user only
    security.mutable_run_as_group()->set_value(*from.security.run_as_group);
  for (const std::int64_t group : from.security.supplemental_groups) security.add_supplemental_groups(group);
  if (from.security.fs_group) security.add_supplemental_groups(*from.security.fs_group);
  PutSeLinux(from.security, security);
  PutNamespaces(from.namespaces, *security.mutable_namespace_options());
  Put(from.sysctls, *of_linux.mutable_sysctls());
  Put(from.overhead, *of_linux.mutable_overhead());
  Put(from.resources, *of_linux.mutable_resources());
  for (const ContainerPort& port : from.ports) {
    pb::PortMapping& put = *to.add_port_mappings();
    put.set_protocol(port.protocol == "UDP" ? pb::UDP : port.protocol == "SCTP" ? pb::SCTP : pb::TCP);
    put.set_container_port(port.port);
    put.set_host_port(port.host_port);
    put.set_host_ip(port.host_ip);
  }
  pb::DNSConfig& dns = *to.mutable_dns_config();
  for (const std::string& server : from.dns.servers) dns.add_servers(server);
  for (const std::string& search : from.dns.searches) dns.add_searches(search);
  for (const std::string& option : from.dns.options) dns.add_options(option);
}

void Put(const ContainerSpec& from, pb::ContainerConfig& to) {
  to.mutable_metadata()->set_name(from.name);
  to.mutable_metadata()->set_attempt(from.attempt);
  to.mutable_image()->set_image(from.image);
  to.mutable_image()->set_user_specified_image(from.user_image);
  for (const std::string& word : from.command) to.add_command(word);
  for (const std::string& word : from.args) to.add_args(word);
  to.set_working_dir(from.working_dir);
  for (const auto& [name, value] : from.env) {
    pb::KeyValue& put = *to.add_envs();
    put.set_key(name);
    put.set_value(value);
  }
  for (const Mount& mount : from.mounts) {
    pb::Mount& put = *to.add_mounts();
    put.set_container_path(mount.container_path);
    put.set_host_path(mount.host_path);
    put.set_readonly(mount.read_only);
    put.set_propagation(PropagationOf(mount.propagation));
    put.set_recursive_read_only(mount.recursive_read_only);
    put.set_selinux_relabel(mount.relabel);
  }
  for (const DeviceNode& device : from.devices) {
    pb::Device& put = *to.add_devices();
    put.set_container_path(device.container_path);
    put.set_host_path(device.host_path);
    put.set_permissions(device.permissions);
  }
  for (const std::string& name : from.cdi_devices) to.add_cdi_devices()->set_name(name);
  Put(from.labels, *to.mutable_labels());
  Put(from.annotations, *to.mutable_annotations());
  to.set_log_path(from.log_path);
  Put(from.resources, *to.mutable_linux()->mutable_resources());
  pb::LinuxContainerSecurityContext& security = *to.mutable_linux()->mutable_security_context();
  PutSecurity(from.security, security);
  PutNamespaces(from.namespaces, *security.mutable_namespace_options());
  to.set_stdin(from.stdin_open);
  to.set_stdin_once(from.stdin_once);
  to.set_tty(from.tty);
}

// ---- messages to values ----

Sandbox TakeSandbox(const pb::PodSandbox& from) {
  return {.id = from.id(),
          .uid = from.metadata().uid(),
          .pod = from.metadata().namespace_() + "/" + from.metadata().name(),
          .attempt = from.metadata().attempt(),
          .ready = from.state() == pb::SANDBOX_READY,
          .created_at_ns = from.created_at(),
          .annotations = TakeLabels(from.annotations())};
}

ContainerEntry TakeContainer(const pb::Container& from) {
  ContainerEntry entry;
  entry.id = from.id();
  entry.sandbox_id = from.pod_sandbox_id();
  entry.name = from.metadata().name();
  entry.attempt = from.metadata().attempt();
  entry.state = StateOf(from.state());
  entry.labels = TakeLabels(from.labels());
  return entry;
}

ContainerEntry TakeStatus(const pb::ContainerStatusResponse& answer) {
  const pb::ContainerStatus& status = answer.status();
  ContainerEntry out;
  out.id = status.id();
  out.name = status.metadata().name();
  out.attempt = status.metadata().attempt();
  out.state = StateOf(status.state());
  out.labels = TakeLabels(status.labels());
  out.started_at_ns = status.started_at();
  out.finished_at_ns = status.finished_at();
  out.exit_code = status.exit_code();
  out.reason = status.reason();
  out.message = Printable(status.message(), 2'000);
  out.log_path = status.log_path();
  if (const auto info = answer.info().find("info"); info != answer.info().end()) out.pid = PidIn(info->second);
  if (status.resources().has_linux()) out.resources = TakeResources(status.resources().linux());
  return out;
}

/// containerd shows its configuration, as JSON; CRI-O has no such setting.
std::optional<bool> EnablesCdi(const pb::StatusResponse& answer) {
  const auto config = answer.info().find("config");
  if (config == answer.info().end()) return std::nullopt;
  const auto parsed = nlohmann::json::parse(config->second, nullptr, false);
  const auto enabled = parsed.is_object() ? parsed.find("enableCDI") : parsed.end();
  return enabled != parsed.end() && enabled->is_boolean() ? std::optional(enabled->get<bool>()) : std::nullopt;
}

/// containerd shows its networks as JSON: each has plug-ins, and these have capabilities, which may be false.
bool CniHas(const pb::StatusResponse& answer, const char* capability) {
  const auto shown = answer.info().find("cniconfig");
  if (shown == answer.info().end()) return false;
  const auto config = nlohmann::json::parse(shown->second, nullptr, false);
  for (const auto& network : ValueAt(config, {"Networks"}))
    for (const auto& plugin : ValueAt(network, {"Config", "Plugins"})) {
      const auto has = ValueAt(plugin, {"Network", "capabilities", capability});
      if (has.is_boolean() && has.get<bool>()) return true;
    }
  return false;
}

Image TakeImage(const pb::Image& from) {
  Image out{.id = from.id(), .tags = {}, .digests = {}, .size = from.size()};
  out.tags.assign(from.repo_tags().begin(), from.repo_tags().end());
  out.digests.assign(from.repo_digests().begin(), from.repo_digests().end());
  if (from.has_uid()) out.uid = from.uid().value();
  out.user = from.username();
  return out;
}

void Put(const Credentials& from, pb::AuthConfig& to) {
  to.set_username(from.username);
  to.set_password(from.password);
  to.set_identity_token(from.identity_token);
  to.set_registry_token(from.registry_token);
}

}  // namespace berth::cri
