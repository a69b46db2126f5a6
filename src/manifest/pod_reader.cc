#include "manifest/pod_reader.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "manifest/checks_reader.h"
#include "manifest/env_reader.h"
#include "manifest/pod_extras_reader.h"
#include "manifest/pod_isolation_reader.h"
#include "manifest/pod_validation.h"
#include "manifest/volume_reader.h"

namespace berth::manifest {
namespace {

using Names = std::span<const std::string_view>;

// Fields of core/v1 (1.36) that Berth accepts and does not use. What is below them is not looked at.
constexpr std::string_view kPodUnused[] = {"apiVersion", "kind"};
constexpr std::string_view kMetadataUnused[] = {"deletionGracePeriodSeconds",
                                                "deletionTimestamp",
                                                "finalizers",
                                                "generateName",
                                                "generation",
                                                "managedFields",
                                                "ownerReferences",
                                                "selfLink",
                                                "resourceVersion"};
constexpr std::string_view kSpecUnused[] = {"affinity",
                                            "automountServiceAccountToken",
                                            "dnsConfig",
                                            "dnsPolicy",
                                            "enableServiceLinks",
                                            "ephemeralContainers",
                                            "hostAliases",
                                            "hostIPC",
                                            "hostPID",
                                            "hostUsers",
                                            "hostnameOverride",
                                            "imagePullSecrets",
                                            "nodeSelector",
                                            "preemptionPolicy",
                                            "resourceClaims",
                                            "runtimeClassName",
                                            "schedulerName",
                                            "schedulingGates",
                                            "schedulingGroup",
                                            "serviceAccount",
                                            "serviceAccountName",
                                            "setHostnameAsFQDN",
                                            "shareProcessNamespace",
                                            "subdomain",
                                            "tolerations",
                                            "topologySpreadConstraints"};
constexpr std::string_view kContainerUnused[] = {"stdin", "stdinOnce", "tty", "volumeDevices"};
constexpr std::string_view kResourcesUnused[] = {"claims"};

void ReadRestartPolicy(Object& spec, RestartPolicy& out) {
  std::string text;
  ReadWord(spec, "restartPolicy", {"Always", "Never", "OnFailure"}, text);
  if (text == "Never") out = RestartPolicy::kNever;
  if (text == "OnFailure") out = RestartPolicy::kOnFailure;
}

void ReadQosClass(Object& status, std::optional<QosClass>& out) {
  std::string text;
  ReadWord(status, "qosClass", {"BestEffort", "Burstable", "Guaranteed"}, text);
  if (text == "BestEffort") out = QosClass::kBestEffort;
  if (text == "Burstable") out = QosClass::kBurstable;
  if (text == "Guaranteed") out = QosClass::kGuaranteed;
}

class PodReader {
 public:
  explicit PodReader(Report& report) : report_(report) {}

  Pod Read(const Node& node, const Path& path) {
    Pod pod;
    spec_ = Find(node, "spec");
    Object object(node, path, report_);
    if (!object.Within("metadata", [&](Object& metadata) { ReadMetadata(metadata, pod); }))
      report_.Problem(object.PathOf("metadata"), "Required value: give the pod a name");
    if (!object.Within("spec", [&](Object& spec) { ReadSpec(spec, pod); }))
      report_.Problem(object.PathOf("spec"), "Required value: a pod needs containers");
    object.Within("status", [&](Object& status) { ReadStatus(status, pod); });
    object.Finish(kPodUnused);
    return pod;
  }

 private:
  static void ReadMetadata(Object& metadata, Pod& pod) {
    metadata.Read("name", pod.name);
    metadata.Read("namespace", pod.namespace_);
    metadata.Read("uid", pod.uid);
    metadata.Read("labels", pod.labels);
    metadata.Read("annotations", pod.annotations);
    metadata.Read("creationTimestamp", pod.creation_timestamp);
    metadata.Finish(kMetadataUnused);
    if (pod.namespace_.empty()) pod.namespace_ = "default";
  }

  void ReadSpec(Object& spec, Pod& pod) {
    spec.Each("initContainers", [&](const Node& node, const Path& path) {
      if (pod.init_containers.size() <= kMostContainers)
        ReadContainer(node, path, /*init=*/true, pod.init_containers.emplace_back());
    });
    spec.Each("containers", [&](const Node& node, const Path& path) {
      if (pod.containers.size() <= kMostContainers)
        ReadContainer(node, path, /*init=*/false, pod.containers.emplace_back());
    });
    ReadRestartPolicy(spec, pod.restart_policy);
    spec.Read("terminationGracePeriodSeconds", pod.termination_grace_s);
    ReadEnds(spec, pod);
    spec.Read("overhead", pod.overhead);
    spec.Within("resources", [&](Object& resources) { ReadResources(resources, pod.resources.emplace()); });
    spec.Read("nodeName", pod.node_name);
    ReadPriority(spec, pod);
    spec.Read("hostNetwork", pod.host_network);
    spec.Read("hostname", pod.hostname);
    ReadPodIsolation(spec, pod);
    spec.Each("volumes", [&](const Node& node, const Path& path) {
      ReadVolume(node, path, *spec_, report_, pod.volumes.emplace_back());
    });
    spec.Within("securityContext", [&](Object& security) { ReadPodSecurityContext(security, pod.security); });
    spec.Finish(kSpecUnused);
  }

  void ReadPriority(Object& spec, Pod& pod) {
    spec.Read("priority", pod.priority);
    spec.Read("priorityClassName", pod.priority_class);
    if (pod.priority_class.empty() || spec.Take("priority") != nullptr || PriorityOfClass(pod.priority_class)) return;
    report_.Warn(spec.PathOf("priorityClassName"),
                 "the value of \"" + Printable(pod.priority_class, 253) +
                     "\" is not known here, and the priority is 0: write spec.priority beside it; only "
                     "system-node-critical and system-cluster-critical have their values");
  }

  void ReadEnds(Object& spec, Pod& pod) {
    if (spec.Take("activeDeadlineSeconds") != nullptr)
      spec.Read("activeDeadlineSeconds", pod.active_deadline_s.emplace());
    spec.Each("readinessGates", [&](const Node& node, const Path& path) {
      Object gate(node, path, report_);
      gate.Read("conditionType", pod.readiness_gates.emplace_back());
      gate.Finish();
    });
    spec.Within("os", [&](Object& os) {
      os.Read("name", pod.os);
      os.Finish();
    });
  }

  /// Written by whoever ran the pod before; only two fields matter and nothing else is judged.
  static void ReadStatus(Object& status, Pod& pod) {
    ReadQosClass(status, pod.status_qos);
    status.Read("phase", pod.phase);
  }

  void ReadContainer(const Node& node, const Path& path, bool init, Container& c) {
    Object object(node, path, report_);
    object.Read("name", c.name);
    object.Read("image", c.image);
    object.Read("imagePullPolicy", c.image_pull_policy);
    object.Read("command", c.command);
    object.Read("args", c.args);
    object.Read("workingDir", c.working_dir);
    ReadEnvironment(object, *spec_, c);
    object.Within("resources", [&](Object& resources) { ReadResources(resources, c.resources); });
    object.Each("volumeMounts",
                [&](const Node& item, const Path& at) { ReadVolumeMount(item, at, report_, c.mounts.emplace_back()); });
    object.Within("securityContext", [&](Object& security) { ReadSecurityContext(security, c.security); });
    ReadContainerIsolation(object, c);
    ReadContainerChecks(object, init, c);
    object.Finish(kContainerUnused);
  }

  static void ReadResources(Object& object, Resources& resources) {
    object.Read("requests", resources.requests);
    object.Read("limits", resources.limits);
    object.Finish(kResourcesUnused);
  }

  Report& report_;
  const Node* spec_ = nullptr;  // of the pod; not null while its containers are read
};

}  // namespace

Pod ReadPod(const Node& node, const Path& path, Report& report) { return PodReader(report).Read(node, path); }

}  // namespace berth::manifest
