#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "api/codec/json_parts.h"

namespace berth::codec {
namespace {

/// Kubernetes leaves empty fields out; so does this, to give back what a person would have written.
void PutIf(Json& out, const char* key, const std::string& value) {
  if (!value.empty()) out[key] = value;
}
void PutIf(Json& out, const char* key, const std::vector<std::string>& values) {
  if (!values.empty()) out[key] = values;
}
void PutIf(Json& out, const char* key, const std::vector<std::int64_t>& values) {
  if (!values.empty()) out[key] = values;
}
void PutIf(Json& out, const char* key, const std::map<std::string, std::string>& values) {
  if (!values.empty()) out[key] = values;
}

void PutIf(Json& out, const char* key, std::same_as<bool> auto value) {
  if (value) out[key] = true;
}
void PutIf(Json& out, const char* key, const std::optional<bool>& value) {
  if (value) out[key] = *value;
}
void PutIf(Json& out, const char* key, const std::optional<std::int64_t>& value) {
  if (value) out[key] = *value;
}
void PutIf(Json& out, const char* key, Json object) {
  if (!object.empty()) out[key] = std::move(object);
}

void PutProfiles(Json& out, const SecurityContext& security) {
  Json app_armor = Json::object();
  PutIf(app_armor, "type", security.app_armor);
  PutIf(app_armor, "localhostProfile", security.app_armor_localhost);
  PutIf(out, "appArmorProfile", std::move(app_armor));
  if (security.se_linux) {
    Json label = Json::object();
    PutIf(label, "user", security.se_linux->user);
    PutIf(label, "role", security.se_linux->role);
    PutIf(label, "type", security.se_linux->type);
    PutIf(label, "level", security.se_linux->level);
    out["seLinuxOptions"] = std::move(label);
  }
  PutIf(out, "procMount", security.proc_mount);
  for (const auto& [name, value] : security.sysctls) out["sysctls"].push_back({{"name", name}, {"value", value}});
}

Json SecurityJson(const SecurityContext& security) {
  Json capabilities = Json::object();
  PutIf(capabilities, "add", security.add_capabilities);
  PutIf(capabilities, "drop", security.drop_capabilities);
  Json seccomp = Json::object();
  PutIf(seccomp, "type", security.seccomp);
  PutIf(seccomp, "localhostProfile", security.seccomp_localhost);
  Json out = Json::object();
  PutIf(out, "runAsUser", security.run_as_user);
  PutIf(out, "runAsGroup", security.run_as_group);
  PutIf(out, "runAsNonRoot", security.run_as_non_root);
  PutIf(out, "privileged", security.privileged);
  PutIf(out, "readOnlyRootFilesystem", security.read_only_root);
  PutIf(out, "allowPrivilegeEscalation", security.allow_privilege_escalation);
  PutIf(out, "capabilities", std::move(capabilities));
  PutIf(out, "seccompProfile", std::move(seccomp));
  PutIf(out, "fsGroup", security.fs_group);
  PutIf(out, "fsGroupChangePolicy", security.fs_group_change_policy);
  PutIf(out, "supplementalGroups", security.supplemental_groups);
  PutIf(out, "supplementalGroupsPolicy", security.supplemental_groups_policy);
  PutProfiles(out, security);
  return out;
}

Json MountJson(const VolumeMount& mount) {
  Json out = {{"name", mount.name}, {"mountPath", mount.mount_path}};
  PutIf(out, "subPath", mount.sub_path);
  PutIf(out, "subPathExpr", mount.sub_path_expr);
  PutIf(out, "readOnly", mount.read_only);
  PutIf(out, "recursiveReadOnly", mount.recursive_read_only);
  PutIf(out, "mountPropagation", mount.propagation);
  return out;
}

Json ContainerJson(const Container& c) {
  Json out = {{"name", c.name}};
  PutIf(out, "image", c.image);
  PutIf(out, "imagePullPolicy", c.image_pull_policy);
  PutIf(out, "command", c.command);
  PutIf(out, "args", c.args);
  PutIf(out, "workingDir", c.working_dir);
  PutEnvironment(out, c);
  out["resources"] = ResourcesJson(c.resources);
  for (const std::string& resource : c.restart_to_resize)
    out["resizePolicy"].push_back({{"resourceName", resource}, {"restartPolicy", "RestartContainer"}});
  PutChecks(out, c);
  PutIf(out, "volumeMounts", ListJson(c.mounts, MountJson));
  PutIf(out, "securityContext", SecurityJson(c.security));
  PutIf(out, "stdin", c.stdin_open);
  PutIf(out, "stdinOnce", c.stdin_once);
  PutIf(out, "tty", c.tty);
  return out;
}

Json MetadataJson(const Pod& pod) {
  Json out = {{"name", pod.name}, {"namespace", pod.namespace_}};
  PutIf(out, "uid", pod.uid);
  PutIf(out, "labels", pod.labels);
  PutIf(out, "annotations", pod.annotations);
  PutIf(out, "creationTimestamp", pod.creation_timestamp);
  return out;
}

Json DnsJson(const DnsConfig& dns) {
  Json out = Json::object();
  PutIf(out, "nameservers", dns.servers);
  PutIf(out, "searches", dns.searches);
  for (const std::string& option : dns.options) {
    const std::size_t colon = option.find(':');
    Json item = {{"name", option.substr(0, colon)}};
    if (colon != std::string::npos) item["value"] = option.substr(colon + 1);
    out["options"].push_back(std::move(item));
  }
  return out;
}

void PutIsolation(Json& out, const Pod& pod) {
  PutIf(out, "hostPID", pod.host_pid);
  PutIf(out, "hostIPC", pod.host_ipc);
  PutIf(out, "hostUsers", pod.host_users);
  PutIf(out, "shareProcessNamespace", pod.share_process_namespace);
  PutIf(out, "runtimeClassName", pod.runtime_class);
  PutIf(out, "subdomain", pod.subdomain);
  PutIf(out, "setHostnameAsFQDN", pod.hostname_as_fqdn);
  PutIf(out, "dnsPolicy", pod.dns_policy);
  PutIf(out, "dnsConfig", DnsJson(pod.dns));
  for (const HostAlias& alias : pod.host_aliases)
    out["hostAliases"].push_back({{"ip", alias.ip}, {"hostnames", alias.hostnames}});
  for (const std::string& name : pod.image_pull_secrets) out["imagePullSecrets"].push_back({{"name", name}});
}

Json SpecJson(const Pod& pod) {
  Json out = Json::object();
  PutIf(out, "nodeName", pod.node_name);
  if (pod.priority != 0) out["priority"] = pod.priority;
  PutIf(out, "priorityClassName", pod.priority_class);
  PutIf(out, "hostNetwork", pod.host_network);
  PutIf(out, "hostname", pod.hostname);
  PutIsolation(out, pod);
  out["restartPolicy"] = Name(pod.restart_policy);
  out["terminationGracePeriodSeconds"] = pod.termination_grace_s;
  PutIf(out, "activeDeadlineSeconds", pod.active_deadline_s);
  for (const std::string& type : pod.readiness_gates) out["readinessGates"].push_back({{"conditionType", type}});
  if (!pod.os.empty()) out["os"]["name"] = pod.os;
  if (!pod.overhead.empty()) out["overhead"] = ToJson(pod.overhead);
  if (pod.resources) out["resources"] = ResourcesJson(*pod.resources);
  PutIf(out, "securityContext", SecurityJson(pod.security));
  PutIf(out, "volumes", ListJson(pod.volumes, VolumeJson));
  PutIf(out, "initContainers", ListJson(pod.init_containers, ContainerJson));
  out["containers"] = ListJson(pod.containers, ContainerJson);
  return out;
}

}  // namespace

Json ResourcesJson(const Resources& resources) {
  Json out = Json::object();
  if (!resources.requests.empty()) out["requests"] = ToJson(resources.requests);
  if (!resources.limits.empty()) out["limits"] = ToJson(resources.limits);
  return out;
}

Json ToJson(const Pod& pod) {
  Json out = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", MetadataJson(pod)}, {"spec", SpecJson(pod)}};
  Json status = Json::object();
  PutIf(status, "phase", pod.phase);
  if (pod.status_qos) status["qosClass"] = Name(*pod.status_qos);
  if (!status.empty()) out["status"] = std::move(status);
  return out;
}

}  // namespace berth::codec
