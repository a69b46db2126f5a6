// v1.Pod as ToJson(Pod) writes it, read back. Manifests of people go through component manifest, which says what they
// got wrong.
#include "api/codec/json_parts.h"

namespace berth::codec {
namespace {

std::string TextOf(const Reader& reader, const char* key) {
  return reader.Has(key) ? reader.Field(key).String() : std::string();
}
std::vector<std::string> TextsOf(const Reader& reader, const char* key) {
  return reader.Has(key) ? reader.Field(key).Strings() : std::vector<std::string>();
}
bool FlagOf(const Reader& reader, const char* key) { return reader.Has(key) && reader.Field(key).Bool(); }
std::optional<bool> MaybeFlagOf(const Reader& reader, const char* key) {
  return reader.Has(key) ? std::optional(reader.Field(key).Bool()) : std::nullopt;
}
std::optional<std::int64_t> MaybeNumberOf(const Reader& reader, const char* key) {
  return reader.Has(key) ? std::optional(reader.Field(key).Integer<std::int64_t>()) : std::nullopt;
}
ResourceList AmountsOf(const Reader& reader, const char* key) {
  return reader.Has(key) ? reader.Field(key).Resources() : ResourceList();
}
std::map<std::string, std::string> PairsOf(const Reader& reader, const char* key) {
  std::map<std::string, std::string> out;
  if (!reader.Has(key)) return out;
  for (const auto& [name, value] : reader.Field(key).Members()) out.emplace(name, value.String());
  return out;
}
/// Items of a list that may be left out.
std::vector<Reader> ItemsOf(const Reader& reader, const char* key) {
  return reader.Has(key) ? reader.Field(key).Items() : std::vector<Reader>();
}

void ReadProfiles(const Reader& reader, SecurityContext& out) {
  if (reader.Has("appArmorProfile")) {
    const Reader profile = reader.Field("appArmorProfile");
    out.app_armor = TextOf(profile, "type");
    out.app_armor_localhost = TextOf(profile, "localhostProfile");
  }
  if (reader.Has("seLinuxOptions")) {
    const Reader label = reader.Field("seLinuxOptions");
    out.se_linux = {.user = TextOf(label, "user"),
                    .role = TextOf(label, "role"),
                    .type = TextOf(label, "type"),
                    .level = TextOf(label, "level")};
  }
  out.proc_mount = TextOf(reader, "procMount");
  for (const Reader& item : ItemsOf(reader, "sysctls"))
    out.sysctls.emplace_back(item.Field("name").String(), item.Field("value").String());
}

SecurityContext ReadSecurity(const Reader& above) {
  SecurityContext out;
  if (!above.Has("securityContext")) return out;
  const Reader reader = above.Field("securityContext");
  out.run_as_user = MaybeNumberOf(reader, "runAsUser");
  out.run_as_group = MaybeNumberOf(reader, "runAsGroup");
  out.run_as_non_root = MaybeFlagOf(reader, "runAsNonRoot");
  out.privileged = MaybeFlagOf(reader, "privileged");
  out.read_only_root = MaybeFlagOf(reader, "readOnlyRootFilesystem");
  out.allow_privilege_escalation = MaybeFlagOf(reader, "allowPrivilegeEscalation");
  if (reader.Has("capabilities")) {
    const Reader capabilities = reader.Field("capabilities");
    out.add_capabilities = TextsOf(capabilities, "add");
    out.drop_capabilities = TextsOf(capabilities, "drop");
  }
  if (reader.Has("seccompProfile")) {
    const Reader seccomp = reader.Field("seccompProfile");
    out.seccomp = TextOf(seccomp, "type");
    out.seccomp_localhost = TextOf(seccomp, "localhostProfile");
  }
  out.fs_group = MaybeNumberOf(reader, "fsGroup");
  out.fs_group_change_policy = TextOf(reader, "fsGroupChangePolicy");
  for (const Reader& group : ItemsOf(reader, "supplementalGroups"))
    out.supplemental_groups.push_back(group.Integer<std::int64_t>());
  out.supplemental_groups_policy = TextOf(reader, "supplementalGroupsPolicy");
  ReadProfiles(reader, out);
  return out;
}

VolumeMount ReadMount(const Reader& reader) {
  return {.name = reader.Field("name").String(),
          .mount_path = reader.Field("mountPath").String(),
          .sub_path = TextOf(reader, "subPath"),
          .sub_path_expr = TextOf(reader, "subPathExpr"),
          .read_only = FlagOf(reader, "readOnly"),
          .recursive_read_only = TextOf(reader, "recursiveReadOnly"),
          .propagation = TextOf(reader, "mountPropagation")};
}

Container ReadContainer(const Reader& reader, bool init) {
  Container out;
  out.name = reader.Field("name").String();
  out.image = TextOf(reader, "image");
  out.image_pull_policy = TextOf(reader, "imagePullPolicy");
  out.command = TextsOf(reader, "command");
  out.args = TextsOf(reader, "args");
  out.working_dir = TextOf(reader, "workingDir");
  ReadEnvironment(reader, out);
  out.resources = ReadResources(reader.Field("resources"));
  for (const Reader& item : ItemsOf(reader, "resizePolicy"))
    out.restart_to_resize.push_back(item.Field("resourceName").String());
  ReadChecks(reader, init, out);
  for (const Reader& item : ItemsOf(reader, "volumeMounts")) out.mounts.push_back(ReadMount(item));
  out.security = ReadSecurity(reader);
  out.stdin_open = FlagOf(reader, "stdin");
  out.stdin_once = FlagOf(reader, "stdinOnce");
  out.tty = FlagOf(reader, "tty");
  return out;
}

void ReadMetadata(const Reader& reader, Pod& pod) {
  pod.name = reader.Field("name").String();
  pod.namespace_ = reader.Field("namespace").String();
  pod.uid = TextOf(reader, "uid");
  pod.labels = PairsOf(reader, "labels");
  pod.annotations = PairsOf(reader, "annotations");
  pod.creation_timestamp = TextOf(reader, "creationTimestamp");
}

DnsConfig ReadDns(const Reader& reader) {
  DnsConfig out{.servers = TextsOf(reader, "nameservers"), .searches = TextsOf(reader, "searches"), .options = {}};
  for (const Reader& item : ItemsOf(reader, "options")) {
    std::string& option = out.options.emplace_back(item.Field("name").String());
    if (item.Has("value")) option += ":" + item.Field("value").String();
  }
  return out;
}

void ReadIsolation(const Reader& reader, Pod& pod) {
  pod.host_pid = FlagOf(reader, "hostPID");
  pod.host_ipc = FlagOf(reader, "hostIPC");
  pod.host_users = MaybeFlagOf(reader, "hostUsers");
  pod.share_process_namespace = FlagOf(reader, "shareProcessNamespace");
  pod.runtime_class = TextOf(reader, "runtimeClassName");
  pod.subdomain = TextOf(reader, "subdomain");
  pod.hostname_as_fqdn = FlagOf(reader, "setHostnameAsFQDN");
  pod.dns_policy = TextOf(reader, "dnsPolicy");
  if (reader.Has("dnsConfig")) pod.dns = ReadDns(reader.Field("dnsConfig"));
  for (const Reader& item : ItemsOf(reader, "hostAliases"))
    pod.host_aliases.push_back({.ip = item.Field("ip").String(), .hostnames = TextsOf(item, "hostnames")});
  for (const Reader& item : ItemsOf(reader, "imagePullSecrets"))
    pod.image_pull_secrets.push_back(item.Field("name").String());
}

void ReadSpec(const Reader& reader, Pod& pod) {
  pod.node_name = TextOf(reader, "nodeName");
  if (reader.Has("priority")) pod.priority = reader.Field("priority").Integer<std::int32_t>();
  pod.priority_class = TextOf(reader, "priorityClassName");
  pod.host_network = FlagOf(reader, "hostNetwork");
  pod.hostname = TextOf(reader, "hostname");
  ReadIsolation(reader, pod);
  pod.restart_policy =
      reader.Field("restartPolicy").OneOf({RestartPolicy::kAlways, RestartPolicy::kOnFailure, RestartPolicy::kNever});
  pod.termination_grace_s = reader.Field("terminationGracePeriodSeconds").Integer<std::int64_t>();
  pod.active_deadline_s = MaybeNumberOf(reader, "activeDeadlineSeconds");
  for (const Reader& item : ItemsOf(reader, "readinessGates"))
    pod.readiness_gates.push_back(item.Field("conditionType").String());
  if (reader.Has("os")) pod.os = reader.Field("os").Field("name").String();
  pod.overhead = AmountsOf(reader, "overhead");
  if (reader.Has("resources")) pod.resources = ReadResources(reader.Field("resources"));
  pod.security = ReadSecurity(reader);
  for (const Reader& item : ItemsOf(reader, "volumes")) pod.volumes.push_back(ReadVolume(item));
  for (const Reader& item : ItemsOf(reader, "initContainers")) pod.init_containers.push_back(ReadContainer(item, true));
  for (const Reader& item : reader.Field("containers").Items()) pod.containers.push_back(ReadContainer(item, false));
}

}  // namespace

Resources ReadResources(const Reader& reader) {
  return {.requests = AmountsOf(reader, "requests"), .limits = AmountsOf(reader, "limits")};
}

Pod ReadPod(const Reader& reader) {
  Pod pod;
  ReadMetadata(reader.Field("metadata"), pod);
  ReadSpec(reader.Field("spec"), pod);
  if (!reader.Has("status")) return pod;
  const Reader status = reader.Field("status");
  pod.phase = TextOf(status, "phase");
  if (status.Has("qosClass")) pod.status_qos = ReadQos(status.Field("qosClass"));
  return pod;
}

}  // namespace berth::codec
