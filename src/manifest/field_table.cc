#include "manifest/field_table.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/text.h"

namespace berth::manifest {
namespace {

constexpr FieldTreatment kDone{.verdict = FieldVerdict::kCarriedOut};
constexpr FieldTreatment kOthers{.verdict = FieldVerdict::kForOthers};
constexpr FieldTreatment Ignored(std::string_view why) { return {.verdict = FieldVerdict::kNoEffect, .why = why}; }
constexpr FieldTreatment Refused(std::string_view why) { return {.verdict = FieldVerdict::kRefused, .why = why}; }

constexpr std::string_view kHostName = "a plain process has the host's name";
constexpr std::string_view kHostProgram = "a plain process runs a program of the host";
constexpr std::string_view kHostResolver = "a plain process has the host's resolv.conf";
constexpr std::string_view kHostUsers = "containers share the host's users";
constexpr std::string_view kLinux = "containers run on Linux";
constexpr std::string_view kNoAppArmor = "no AppArmor profile is set";
constexpr std::string_view kNoCertificate =
    "there is no API server to sign one; put a certificate into a Secret and use that";
constexpr FieldTreatment kNoClaims{
    .verdict = FieldVerdict::kRefused,
    .why = "there is no API server to allocate these devices",
    .cure =
        "ask for a resource of a device plug-in instead, or for one that localDevices of Berth's settings makes of "
        "the same devices: resources.limits: {vendor.example/gpu: 1}",
    .of_devices = true};
constexpr std::string_view kNoInput = "standard input is empty";
constexpr std::string_view kNoLabels = "there is no scheduler, and nodes have no labels";
constexpr std::string_view kNoRights = "there is no API server to give it rights";
constexpr std::string_view kNoScheduler = "there is no scheduler";
constexpr std::string_view kNoSeLinux = "no SELinux label is set";
constexpr std::string_view kNoStorage =
    "no storage is attached or mounted for pods; mount it on the host and use hostPath";
constexpr std::string_view kNoTcpHook = "a kubelet takes it and then fails to run it";
constexpr std::string_view kNoToken = "there is no API server to issue one; put a token into a Secret and use that";
constexpr std::string_view kNoTrust =
    "there is no API server to ask for it; put the certificates into a ConfigMap and use that";

// Who carries a field out changes its row, and the same row of docs/reference/pod-fields.md (a test compares them).
// Path, fine values, plain processes, container runtimes.
constexpr FieldRow kRows[] = {
    {"apiVersion", "", kDone, kDone},
    {"kind", "", kDone, kDone},
    {"metadata", "", kOthers, kOthers},
    {"metadata.annotations", "", kDone, kDone},
    {"metadata.creationTimestamp", "", kDone, kDone},
    {"metadata.generateName", "", kDone, kDone},
    {"metadata.labels", "", kDone, kDone},
    {"metadata.name", "", kDone, kDone},
    {"metadata.namespace", "", kDone, kDone},
    {"metadata.uid", "", kDone, kDone},
    {"spec.activeDeadlineSeconds", "", kDone, kDone},
    {"spec.affinity", "", Ignored(kNoLabels), Ignored(kNoLabels)},
    {"spec.automountServiceAccountToken", "false", Ignored("there is no API server to give a token"),
     Ignored("there is no API server to give a token")},
    {"spec.containers[].args", "", kDone, kDone},
    {"spec.containers[].command", "", kDone, kDone},
    {"spec.containers[].envFrom[].configMapRef", "", kDone, kDone},
    {"spec.containers[].envFrom[].prefix", "", kDone, kDone},
    {"spec.containers[].envFrom[].secretRef", "", kDone, kDone},
    {"spec.containers[].env[].name", "", kDone, kDone},
    {"spec.containers[].env[].value", "", kDone, kDone},
    {"spec.containers[].env[].valueFrom.configMapKeyRef", "", kDone, kDone},
    {"spec.containers[].env[].valueFrom.fieldRef", "", kDone, kDone},
    {"spec.containers[].env[].valueFrom.fileKeyRef", "", Refused("keys of files are not read"),
     Refused("keys of files are not read")},
    {"spec.containers[].env[].valueFrom.resourceFieldRef", "", kDone, kDone},
    {"spec.containers[].env[].valueFrom.secretKeyRef", "", kDone, kDone},
    {"spec.containers[].image", "none", Ignored(kHostProgram), kDone},
    {"spec.containers[].imagePullPolicy", "Always|IfNotPresent|Never", Ignored(kHostProgram), kDone},
    {"spec.containers[].lifecycle.postStart.exec", "", kDone, kDone},
    {"spec.containers[].lifecycle.postStart.httpGet", "", kDone, kDone},
    {"spec.containers[].lifecycle.postStart.sleep", "", kDone, kDone},
    {"spec.containers[].lifecycle.postStart.tcpSocket", "", Refused(kNoTcpHook), Refused(kNoTcpHook)},
    {"spec.containers[].lifecycle.preStop.exec", "", kDone, kDone},
    {"spec.containers[].lifecycle.preStop.httpGet", "", kDone, kDone},
    {"spec.containers[].lifecycle.preStop.sleep", "", kDone, kDone},
    {"spec.containers[].lifecycle.preStop.tcpSocket", "", Refused(kNoTcpHook), Refused(kNoTcpHook)},
    {"spec.containers[].lifecycle.stopSignal", "", kDone, kDone},
    {"spec.containers[].livenessProbe", "", kDone, kDone},
    {"spec.containers[].name", "", kDone, kDone},
    {"spec.containers[].ports", "", kOthers, kOthers},
    {"spec.containers[].ports[].hostIP", "", Ignored("a plain process listens on the host itself"), kDone},
    {"spec.containers[].ports[].hostPort", "", Ignored("a plain process listens on the host's port itself"), kDone},
    {"spec.containers[].readinessProbe", "", kDone, kDone},
    {"spec.containers[].resizePolicy", "", kDone, kDone},
    {"spec.containers[].resources.claims", "", kNoClaims, kNoClaims},
    {"spec.containers[].resources.limits", "", kDone, kDone},
    {"spec.containers[].resources.requests", "", kDone, kDone},
    {"spec.containers[].restartPolicy", "", kDone, kDone},
    {"spec.containers[].restartPolicyRules", "", kDone, kDone},
    {"spec.containers[].securityContext.allowPrivilegeEscalation", "", kDone, kDone},
    {"spec.containers[].securityContext.appArmorProfile.localhostProfile", "", Refused(kNoAppArmor), kDone},
    {"spec.containers[].securityContext.appArmorProfile.type", "Unconfined", Refused(kNoAppArmor), kDone},
    {"spec.containers[].securityContext.capabilities.add", "", kDone, kDone},
    {"spec.containers[].securityContext.capabilities.drop", "", kDone, kDone},
    {"spec.containers[].securityContext.privileged", "", kDone, kDone},
    {"spec.containers[].securityContext.procMount", "Default", Refused("/proc is the host's"),
     Refused("/proc is as the runtime makes it")},
    {"spec.containers[].securityContext.readOnlyRootFilesystem", "false", kDone, kDone},
    {"spec.containers[].securityContext.runAsGroup", "", kDone, kDone},
    {"spec.containers[].securityContext.runAsNonRoot", "false", kDone, kDone},
    {"spec.containers[].securityContext.runAsUser", "", kDone, kDone},
    {"spec.containers[].securityContext.seLinuxOptions", "", Refused(kNoSeLinux), kDone},
    {"spec.containers[].securityContext.seccompProfile.localhostProfile", "", kDone, kDone},
    {"spec.containers[].securityContext.seccompProfile.type", "Unconfined", kDone, kDone},
    {"spec.containers[].securityContext.windowsOptions", "", Ignored(kLinux), Ignored(kLinux)},
    {"spec.containers[].startupProbe", "", kDone, kDone},
    {"spec.containers[].stdin", "false", Ignored(kNoInput), kDone},
    {"spec.containers[].stdinOnce", "false", Ignored(kNoInput), kDone},
    {"spec.containers[].terminationMessagePath", "/dev/termination-log", kDone, kDone},
    {"spec.containers[].terminationMessagePolicy", "File", kDone, kDone},
    {"spec.containers[].tty", "false", Ignored("there is no terminal"), kDone},
    {"spec.containers[].volumeDevices", "", Refused("no block device is given to a container"),
     Refused("no block device is given to a container")},
    {"spec.containers[].volumeMounts[].mountPath", "", kDone, kDone},
    {"spec.containers[].volumeMounts[].mountPropagation", "None", kDone, kDone},
    {"spec.containers[].volumeMounts[].name", "", kDone, kDone},
    {"spec.containers[].volumeMounts[].readOnly", "false", kDone, kDone},
    {"spec.containers[].volumeMounts[].recursiveReadOnly", "Disabled|IfPossible",
     Refused("mounts below it stay writable"), kDone},
    {"spec.containers[].volumeMounts[].subPath", "", kDone, kDone},
    {"spec.containers[].volumeMounts[].subPathExpr", "", kDone, kDone},
    {"spec.containers[].workingDir", "", kDone, kDone},
    {"spec.dnsConfig", "", Ignored(kHostResolver), kDone},
    {"spec.dnsPolicy", "ClusterFirst|ClusterFirstWithHostNet|Default", Ignored(kHostResolver), kDone},
    {"spec.enableServiceLinks", "false|true", Ignored("there are no services"), Ignored("there are no services")},
    {"spec.ephemeralContainers", "", Refused("an API server alone adds these, to a pod that runs"),
     Refused("an API server alone adds these, to a pod that runs")},
    {"spec.hostAliases", "", Ignored("a plain process has the host's /etc/hosts"), kDone},
    {"spec.hostIPC", "false", kDone, kDone},
    {"spec.hostNetwork", "", kDone, kDone},
    {"spec.hostPID", "false", kDone, kDone},
    {"spec.hostUsers", "true", Refused(kHostUsers), Refused(kHostUsers)},
    {"spec.hostname", "", Ignored(kHostName), kDone},
    {"spec.hostnameOverride", "", Ignored(kHostName), Ignored("the host name is made of hostname or the pod's name")},
    {"spec.imagePullSecrets", "", Ignored("no image is pulled"), kDone},
    {"spec.nodeName", "", kDone, kDone},
    {"spec.nodeSelector", "", Ignored(kNoLabels), Ignored(kNoLabels)},
    {"spec.os.name", "linux", Refused(kLinux), Refused(kLinux)},
    {"spec.overhead", "", kDone, kDone},
    {"spec.preemptionPolicy", "PreemptLowerPriority|Never", Ignored("no pod is ended to make room for another"),
     Ignored("no pod is ended to make room for another")},
    {"spec.priority", "", kDone, kDone},
    {"spec.priorityClassName", "", kDone, kDone},
    {"spec.readinessGates", "", Ignored("nobody sets these conditions: the pod is never ready"),
     Ignored("nobody sets these conditions: the pod is never ready")},
    {"spec.resourceClaims", "", kNoClaims, kNoClaims},
    {"spec.resources.claims", "", kNoClaims, kNoClaims},
    {"spec.resources.limits", "", kDone, kDone},
    {"spec.resources.requests", "", kDone, kDone},
    {"spec.restartPolicy", "", kDone, kDone},
    {"spec.runtimeClassName", "", Refused("a plain process has no runtime handler"), kDone},
    {"spec.schedulerName", "default-scheduler", Ignored(kNoScheduler), Ignored(kNoScheduler)},
    {"spec.schedulingGates", "", Ignored("there is no scheduler: the pod is not held back"),
     Ignored("there is no scheduler: the pod is not held back")},
    {"spec.schedulingGroup", "", Ignored("there is no scheduler: the pod is placed by itself"),
     Ignored("there is no scheduler: the pod is placed by itself")},
    {"spec.securityContext.appArmorProfile.localhostProfile", "", Refused(kNoAppArmor), kDone},
    {"spec.securityContext.appArmorProfile.type", "Unconfined", Refused(kNoAppArmor), kDone},
    {"spec.securityContext.fsGroup", "", kDone, kDone},
    {"spec.securityContext.fsGroupChangePolicy", "", kDone, kDone},
    {"spec.securityContext.runAsGroup", "", kDone, kDone},
    {"spec.securityContext.runAsNonRoot", "false", kDone, kDone},
    {"spec.securityContext.runAsUser", "", kDone, kDone},
    {"spec.securityContext.seLinuxChangePolicy", "Recursive", Ignored(kNoSeLinux),
     Ignored("the files of a volume are labelled one by one, whatever it says")},
    {"spec.securityContext.seLinuxOptions", "", Refused(kNoSeLinux), kDone},
    {"spec.securityContext.seccompProfile.localhostProfile", "", kDone, kDone},
    {"spec.securityContext.seccompProfile.type", "Unconfined", kDone, kDone},
    {"spec.securityContext.supplementalGroups", "", kDone, kDone},
    {"spec.securityContext.supplementalGroupsPolicy", "Merge", kDone, kDone},
    {"spec.securityContext.sysctls", "", Refused("the kernel settings of the host are not changed for a pod"), kDone},
    {"spec.securityContext.windowsOptions", "", Ignored(kLinux), Ignored(kLinux)},
    {"spec.serviceAccount", "default", Ignored(kNoRights), Ignored(kNoRights)},
    {"spec.serviceAccountName", "default", Ignored(kNoRights), Ignored(kNoRights)},
    {"spec.setHostnameAsFQDN", "false", Ignored("the host name is without a domain"), kDone},
    {"spec.shareProcessNamespace", "false", kDone, kDone},
    {"spec.subdomain", "", Ignored("there is no cluster domain"), kDone},
    {"spec.terminationGracePeriodSeconds", "", kDone, kDone},
    {"spec.tolerations", "", Ignored("there are no taints"), Ignored("there are no taints")},
    {"spec.topologySpreadConstraints", "", Ignored(kNoScheduler), Ignored(kNoScheduler)},
    {"spec.volumes[].awsElasticBlockStore", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].azureDisk", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].azureFile", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].cephfs", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].cinder", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].configMap", "", kDone, kDone},
    {"spec.volumes[].csi", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].downwardAPI", "", kDone, kDone},
    {"spec.volumes[].emptyDir.medium", "", kDone, kDone},
    {"spec.volumes[].emptyDir.sizeLimit", "", kDone, kDone},
    {"spec.volumes[].ephemeral", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].fc", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].flexVolume", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].flocker", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].gcePersistentDisk", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].gitRepo", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].glusterfs", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].hostPath", "", kDone, kDone},
    {"spec.volumes[].image", "", Refused("images are not mounted; use hostPath with the same content"),
     Refused("images are not mounted; use hostPath with the same content")},
    {"spec.volumes[].iscsi", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].name", "", kDone, kDone},
    {"spec.volumes[].nfs", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].persistentVolumeClaim", "", kDone, kDone},
    {"spec.volumes[].photonPersistentDisk", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].portworxVolume", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].projected.defaultMode", "", kDone, kDone},
    {"spec.volumes[].projected.sources[].clusterTrustBundle", "", Refused(kNoTrust), Refused(kNoTrust)},
    {"spec.volumes[].projected.sources[].configMap", "", kDone, kDone},
    {"spec.volumes[].projected.sources[].downwardAPI", "", kDone, kDone},
    {"spec.volumes[].projected.sources[].podCertificate", "", Refused(kNoCertificate), Refused(kNoCertificate)},
    {"spec.volumes[].projected.sources[].secret", "", kDone, kDone},
    {"spec.volumes[].projected.sources[].serviceAccountToken", "", Refused(kNoToken), Refused(kNoToken)},
    {"spec.volumes[].quobyte", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].rbd", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].scaleIO", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].secret", "", kDone, kDone},
    {"spec.volumes[].storageos", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"spec.volumes[].vsphereVolume", "", Refused(kNoStorage), Refused(kNoStorage)},
    {"status", "", kOthers, kOthers},
    {"status.phase", "", kDone, kDone},
    {"status.qosClass", "", kDone, kDone},
};

/// "spec.initContainers[0].tty" has the row of "spec.containers[].tty".
std::string Shared(std::string_view path) {
  constexpr std::string_view kInit = "spec.initContainers";
  if (path.starts_with(kInit)) return "spec.containers" + std::string(path.substr(kInit.size()));
  return std::string(path);
}

/// Whether `path` is below `above`, and not only a longer name.
bool IsBelow(std::string_view path, std::string_view above) {
  return path.size() > above.size() && path.starts_with(above) &&
         (path[above.size()] == '.' || path[above.size()] == '[');
}

}  // namespace

std::string_view Name(FieldVerdict verdict) {
  switch (verdict) {
    case FieldVerdict::kCarriedOut: return "carried out";
    case FieldVerdict::kForOthers: return "for others";
    case FieldVerdict::kNoEffect: return "no effect";
    case FieldVerdict::kRefused: return "refused";
  }
  return "";
}

std::span<const FieldRow> FieldTable() {
  static_assert(std::ranges::is_sorted(kRows, {}, &FieldRow::path));
  return kRows;
}

const FieldRow* RowOf(std::string_view path) {
  for (std::string at = Shared(path);;) {
    const auto row = std::ranges::lower_bound(kRows, at, {}, &FieldRow::path);
    if (row != std::end(kRows) && row->path == at) return row;
    const std::size_t cut = at.find_last_of(".[");
    if (cut == std::string::npos) return nullptr;
    at.resize(cut);
  }
}

bool HasRowsBelow(std::string_view path) {
  const std::string at = Shared(path);
  // Names that are only longer ("spec.hostPID" after "spec.host") may stand between.
  for (const auto* row = std::ranges::upper_bound(kRows, at, {}, &FieldRow::path);
       row != std::end(kRows) && row->path.starts_with(at); ++row)
    if (IsBelow(row->path, at)) return true;
  return false;
}

bool IsFine(const FieldRow& row, std::string_view value) {
  if (row.fine.empty()) return false;
  const std::vector<std::string_view> values = Split(row.fine, '|');
  return std::ranges::find(values, value) != values.end();
}

}  // namespace berth::manifest
