#include "manifest/pod_extras_reader.h"

#include <algorithm>

#include "base/text.h"
#include "manifest/names.h"

namespace berth::manifest {
namespace {

constexpr std::string_view kEmptyDirUnused[] = {"sizeLimit"};
constexpr std::string_view kMountUnused[] = {"recursiveReadOnly", "subPathExpr"};
constexpr std::string_view kSecurityUnused[] = {"appArmorProfile",
                                                "fsGroup",
                                                "fsGroupChangePolicy",
                                                "procMount",
                                                "seLinuxChangePolicy",
                                                "seLinuxOptions",
                                                "supplementalGroups",
                                                "supplementalGroupsPolicy",
                                                "sysctls",
                                                "windowsOptions"};
constexpr std::string_view kOtherVolumes[] = {"awsElasticBlockStore",
                                              "azureDisk",
                                              "azureFile",
                                              "cephfs",
                                              "cinder",
                                              "configMap",
                                              "csi",
                                              "downwardAPI",
                                              "ephemeral",
                                              "fc",
                                              "flexVolume",
                                              "flocker",
                                              "gcePersistentDisk",
                                              "gitRepo",
                                              "glusterfs",
                                              "image",
                                              "iscsi",
                                              "nfs",
                                              "persistentVolumeClaim",
                                              "photonPersistentDisk",
                                              "portworxVolume",
                                              "projected",
                                              "quobyte",
                                              "rbd",
                                              "scaleIO",
                                              "secret",
                                              "storageos",
                                              "vsphereVolume"};

void CheckPath(Object& object, std::string_view field, const std::string& path) {
  const std::vector<std::string_view> parts = Split(path, '/');
  if (path.starts_with('/') && std::ranges::find(parts, "..") == parts.end()) return;
  object.report().Problem(object.PathOf(field),
                          "Invalid value: \"" + Printable(path, 80) + "\": must be an absolute path without \"..\"");
}

template <class Value>
void ReadOptional(Object& object, std::string_view key, std::optional<Value>& out) {
  if (object.Take(key) == nullptr) return;
  Value value{};
  object.Read(key, value);
  out = value;
}

}  // namespace

void ReadVolume(const Node& node, const Path& path, Report& report, Volume& out) {
  Object object(node, path, report);
  object.Read("name", out.name);
  if (const std::string wrong = CheckLabelName(out.name); !wrong.empty())  // it becomes part of a path
    report.Problem(object.PathOf("name"), wrong);
  object.Within("hostPath", [&](Object& source) {
    out.kind = Volume::Kind::kHostPath;
    source.Read("path", out.host_path);
    source.Read("type", out.type);
    CheckPath(source, "path", out.host_path);
    source.Finish();
  });
  object.Within("emptyDir", [&](Object& source) {
    std::string medium;
    source.Read("medium", medium);
    out.in_memory = medium == "Memory";
    source.Finish(kEmptyDirUnused);
  });
  for (const std::string_view other : kOtherVolumes)
    if (object.Take(other) != nullptr) {
      out.kind = Volume::Kind::kOther;
      out.type = other;
    }
  object.Finish();
}

void ReadVolumeMount(const Node& node, const Path& path, Report& report, VolumeMount& out) {
  Object object(node, path, report);
  object.Read("name", out.name);
  object.Read("mountPath", out.mount_path);
  object.Read("subPath", out.sub_path);
  object.Read("readOnly", out.read_only);
  object.Read("mountPropagation", out.propagation);
  if (out.name.empty()) report.Problem(object.PathOf("name"), "Required value: name one of spec.volumes");
  CheckPath(object, "mountPath", out.mount_path);
  if (!out.sub_path.empty()) CheckPath(object, "subPath", "/" + out.sub_path);
  object.Finish(kMountUnused);
}

void ReadSecurityContext(Object& object, SecurityContext& out) {
  ReadOptional(object, "runAsUser", out.run_as_user);
  ReadOptional(object, "runAsGroup", out.run_as_group);
  ReadOptional(object, "runAsNonRoot", out.run_as_non_root);
  ReadOptional(object, "privileged", out.privileged);
  ReadOptional(object, "readOnlyRootFilesystem", out.read_only_root);
  ReadOptional(object, "allowPrivilegeEscalation", out.allow_privilege_escalation);
  object.Within("capabilities", [&](Object& capabilities) {
    capabilities.Read("add", out.add_capabilities);
    capabilities.Read("drop", out.drop_capabilities);
    capabilities.Finish();
  });
  object.Within("seccompProfile", [&](Object& profile) {
    profile.Read("type", out.seccomp);
    profile.Read("localhostProfile", out.seccomp_localhost);
    profile.Finish();
  });
  object.Finish(kSecurityUnused);
}

}  // namespace berth::manifest
