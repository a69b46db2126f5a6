// v1.Pod as Berth uses it: the fields that bear on placement and on running it. API defaults are already applied.
#ifndef BERTH_MODEL_POD_H_
#define BERTH_MODEL_POD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"

namespace berth {

enum class QosClass { kGuaranteed, kBurstable, kBestEffort };
std::string_view Name(QosClass qos);  ///< "Guaranteed", ...

enum class RestartPolicy { kAlways, kOnFailure, kNever };
std::string_view Name(RestartPolicy policy);

/// v1.ResourceRequirements.
struct Resources {
  ResourceList requests;
  ResourceList limits;
  friend bool operator==(const Resources&, const Resources&) = default;
};

/// An environment variable. `field_path` (downward API: "metadata.name", "status.hostIP") is used when not empty.
struct EnvVar {
  std::string name;
  std::string value;  ///< $(VAR) references are not expanded yet
  std::string field_path;
  friend bool operator==(const EnvVar&, const EnvVar&) = default;
};

struct Container {
  std::string name;
  std::string image;
  std::string image_pull_policy;     ///< "Always", "IfNotPresent", "Never"; defaulted from the image tag
  std::vector<std::string> command;  ///< replaces the image's entry point
  std::vector<std::string> args;
  std::string working_dir;
  std::vector<EnvVar> env;
  Resources resources;
  bool restartable_init = false;  ///< init container with restartPolicy Always: a sidecar
  std::vector<std::string> pre_stop_exec;
  friend bool operator==(const Container&, const Container&) = default;
};

enum class ContainerKind { kInit, kSidecar, kApp };
std::string_view Name(ContainerKind kind);  ///< "init", "sidecar", "app"

struct Pod {
  std::string name;
  std::string namespace_ = "default";
  std::string uid;  ///< identity in ledger and cgroups; letters, digits and '-' only once it was validated
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::string creation_timestamp;

  std::vector<Container> init_containers;  ///< in order; sidecars are among them
  std::vector<Container> containers;
  RestartPolicy restart_policy = RestartPolicy::kAlways;
  std::int64_t termination_grace_s = 30;
  ResourceList overhead;
  std::optional<Resources> resources;  ///< pod-level resources; present but empty counts (spec devices-cgroups 2.1)
  std::string node_name;
  std::int32_t priority = 0;
  std::string priority_class;
  bool host_network = false;

  std::optional<QosClass> status_qos;  ///< status.qosClass, used verbatim when present
  std::string phase;                   ///< status.phase; "" if absent

  friend bool operator==(const Pod&, const Pod&) = default;
};

/// "namespace/name".
std::string FullName(const Pod& pod);

/// QoS class: status.qosClass if present, else computed (spec cpu-topology-memory 2.5, devices-cgroups 2.1).
QosClass QosOf(const Pod& pod);

/// Calls visit(container, kind) for init containers (sidecars included) in order, then app containers.
template <class Visit>
void ForEachContainer(const Pod& pod, Visit&& visit) {
  for (const Container& c : pod.init_containers)
    visit(c, c.restartable_init ? ContainerKind::kSidecar : ContainerKind::kInit);
  for (const Container& c : pod.containers) visit(c, ContainerKind::kApp);
}

/// What the whole pod asks for: apps + sidecars against the init walk, pod-level values, overhead
/// (spec devices-cgroups 1.8).
ResourceList PodRequests(const Pod& pod);
/// Same for limits; overhead only where there is a limit.
ResourceList PodLimits(const Pod& pod);

}  // namespace berth

#endif  // BERTH_MODEL_POD_H_
