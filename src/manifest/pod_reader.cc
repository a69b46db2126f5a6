#include "manifest/pod_reader.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "manifest/checks_reader.h"
#include "manifest/pod_extras_reader.h"

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
                                            "topologySpreadConstraints",
                                            "workloadRef"};
constexpr std::string_view kContainerUnused[] = {"resizePolicy", "stdin", "stdinOnce", "tty", "volumeDevices"};
constexpr std::string_view kResourcesUnused[] = {"claims"};
constexpr std::string_view kFieldRefUnused[] = {"apiVersion"};

/// What a reference names and how to say that it cannot be resolved here.
struct Reference {
  std::string_view field;
  std::string_view what;
};
constexpr Reference kEnvReferences[] = {{"secretKeyRef", "static pods may not reference secrets"},
                                        {"configMapKeyRef", "static pods may not reference configmaps"},
                                        {"resourceFieldRef", "resource fields are not supported"},
                                        {"fileKeyRef", "keys of files are not supported"}};
constexpr Reference kEnvFromReferences[] = {{"secretRef", "static pods may not reference secrets"},
                                            {"configMapRef", "static pods may not reference configmaps"}};

template <class Enum>
struct Choice {
  std::string_view text;
  Enum value;
};
constexpr Choice<RestartPolicy> kRestartPolicies[] = {
    {"Always", RestartPolicy::kAlways}, {"Never", RestartPolicy::kNever}, {"OnFailure", RestartPolicy::kOnFailure}};
constexpr Choice<QosClass> kQosClasses[] = {
    {"BestEffort", QosClass::kBestEffort}, {"Burstable", QosClass::kBurstable}, {"Guaranteed", QosClass::kGuaranteed}};

class PodReader {
 public:
  PodReader(const PodOptions& options, Report& report) : options_(options), report_(report) {}

  Pod Read(const Node& node, const Path& path) {
    Pod pod;
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
      ReadContainer(node, path, /*init=*/true, pod.init_containers.emplace_back());
    });
    spec.Each("containers", [&](const Node& node, const Path& path) {
      ReadContainer(node, path, /*init=*/false, pod.containers.emplace_back());
    });
    ReadChoice<RestartPolicy>(spec, "restartPolicy", kRestartPolicies,
                              [&](RestartPolicy policy) { pod.restart_policy = policy; });
    spec.Read("terminationGracePeriodSeconds", pod.termination_grace_s);
    ReadEnds(spec, pod);
    spec.Read("overhead", pod.overhead);
    spec.Within("resources", [&](Object& resources) { ReadResources(resources, pod.resources.emplace()); });
    spec.Read("nodeName", pod.node_name);
    spec.Read("priority", pod.priority);
    spec.Read("priorityClassName", pod.priority_class);
    spec.Read("hostNetwork", pod.host_network);
    spec.Read("hostname", pod.hostname);
    spec.Each("volumes",
              [&](const Node& node, const Path& path) { ReadVolume(node, path, report_, pod.volumes.emplace_back()); });
    spec.Within("securityContext", [&](Object& security) { ReadPodSecurityContext(security, pod.security); });
    spec.Finish(kSpecUnused);
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
    ReadChoice<QosClass>(status, "qosClass", kQosClasses, [&](QosClass qos) { pod.status_qos = qos; });
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
    object.Each("env", [&](const Node& item, const Path& at) { ReadEnv(item, at, c.env.emplace_back()); });
    object.Each("envFrom", [&](const Node& item, const Path& at) { ReadEnvFrom(item, at); });
    object.Within("resources", [&](Object& resources) { ReadResources(resources, c.resources); });
    object.Each("volumeMounts",
                [&](const Node& item, const Path& at) { ReadVolumeMount(item, at, report_, c.mounts.emplace_back()); });
    object.Within("securityContext", [&](Object& security) { ReadSecurityContext(security, c.security); });
    ReadContainerChecks(object, init, c);
    object.Finish(kContainerUnused);
  }

  static void ReadResources(Object& object, Resources& resources) {
    object.Read("requests", resources.requests);
    object.Read("limits", resources.limits);
    object.Finish(kResourcesUnused);
  }

  void ReadEnv(const Node& node, const Path& path, EnvVar& var) {
    Object object(node, path, report_);
    object.Read("name", var.name);
    object.Read("value", var.value);
    object.Within("valueFrom", [&](Object& from) {
      from.Within("fieldRef", [&](Object& field) {
        field.Read("fieldPath", var.field_path);
        if (var.field_path.empty()) report_.Problem(field.PathOf("fieldPath"), "Required value");
        field.Finish(kFieldRefUnused);
      });
      const bool referenced = RefuseReferences(from, kEnvReferences);
      if (var.field_path.empty() && !referenced)
        report_.Problem(from.path(), "Invalid value: must name a source; Berth knows fieldRef");
      if (!var.value.empty()) report_.Problem(from.path(), "Invalid value: may not be given beside a value");
      from.Finish();
    });
    object.Finish();
  }

  void ReadEnvFrom(const Node& node, const Path& path) {
    constexpr std::string_view kUnused[] = {"prefix"};
    Object object(node, path, report_);
    RefuseReferences(object, kEnvFromReferences);
    object.Finish(kUnused);
  }

  /// True if any is there. What only an API server can resolve stops a pod that is to run and warns otherwise.
  bool RefuseReferences(Object& object, std::span<const Reference> references) {
    bool found = false;
    for (const Reference& reference : references) {
      if (object.Take(reference.field) == nullptr) continue;
      found = true;
      if (options_.run_by != RunBy::kNobody) continue;  // the field table has them
      if (options_.to_be_run) {
        report_.Problem(object.PathOf(reference.field),
                        "Forbidden: " + std::string(reference.what) + "; write the value into env[].value");
      } else {
        report_.Warn(object.PathOf(reference.field), "ignored: it has no bearing on placement");
      }
    }
    return found;
  }

  template <class Enum, class Set>
  static void ReadChoice(Object& object, std::string_view key, std::span<const Choice<Enum>> choices, Set&& set) {
    std::string text;
    object.Read(key, text);
    if (text.empty()) return;
    std::string supported;
    for (const Choice<Enum>& choice : choices) {
      if (choice.text == text) return set(choice.value);
      supported.append(supported.empty() ? "\"" : ", \"").append(choice.text).append("\"");
    }
    object.report().Problem(object.PathOf(key),
                            "Unsupported value: \"" + Printable(text, 40) + "\": supported values: " + supported);
  }

  const PodOptions& options_;
  Report& report_;
};

}  // namespace

Pod ReadPod(const Node& node, const Path& path, const PodOptions& options, Report& report) {
  return PodReader(options, report).Read(node, path);
}

}  // namespace berth::manifest
