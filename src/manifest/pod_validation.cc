#include "manifest/pod_validation.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

#include "base/name_validation.h"
#include "base/text.h"
#include "manifest/checks_reader.h"
#include "manifest/resource_validation.h"

namespace berth::manifest {
namespace {

constexpr std::string_view kFieldPaths[] = {"metadata.name", "metadata.namespace", "metadata.uid",
                                            "spec.nodeName", "status.hostIP",      "status.hostIPs",
                                            "status.podIP",  "status.podIPs",      "spec.serviceAccountName"};

void CheckName(std::string message, const Path& path, Report& report) {
  if (!message.empty()) report.Problem(path, std::move(message));
}

/// "metadata.labels['app']" and the same of annotations.
bool IsSubscriptedField(std::string_view path) {
  return (path.starts_with("metadata.labels['") || path.starts_with("metadata.annotations['")) && path.ends_with("']");
}

void CheckEnv(const std::vector<EnvVar>& env, const Path& container, Report& report) {
  const Path list{.parent = &container, .key = "env"};
  for (std::size_t i = 0; i < env.size(); ++i) {
    const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
    CheckName(CheckEnvName(env[i].name), Path{.parent = &item, .key = "name"}, report);
    const std::string& field = env[i].field_path;
    if (field.empty() || IsSubscriptedField(field) || std::ranges::find(kFieldPaths, field) != std::end(kFieldPaths))
      continue;
    const Path from{.parent = &item, .key = "valueFrom"};
    const Path ref{.parent = &from, .key = "fieldRef"};
    report.Problem(Path{.parent = &ref, .key = "fieldPath"},
                   "Unsupported value: \"" + Printable(field, 80) +
                       "\": use for example metadata.name, metadata.labels['<key>'] or status.hostIP");
  }
}

void CheckImage(const Container& c, const Path& path, Report& report) {
  if (c.image.empty() && c.command.empty())
    report.Problem(Path{.parent = &path, .key = "image"},
                   "Required value: give an image, or a command to run without one");
  const Words policies = {"Always", "IfNotPresent", "Never"};
  if (!c.image_pull_policy.empty() && std::ranges::find(policies, c.image_pull_policy) == policies.end())
    report.Problem(Path{.parent = &path, .key = "imagePullPolicy"}, UnsupportedValue(c.image_pull_policy, policies));
}

void CheckUnique(const Container& c, const Path& name, std::set<std::string_view>& names, Report& report) {
  if (!c.name.empty() && !names.insert(c.name).second)
    report.Problem(name, "Duplicate value: \"" + Printable(c.name, 80) +
                             "\": names are unique among all containers of a pod, init containers included");
}

void CheckContainer(const Container& c, const Path& path, std::set<std::string_view>& names, Report& report) {
  const Path name{.parent = &path, .key = "name"};
  CheckName(CheckLabelName(c.name), name, report);
  CheckUnique(c, name, names, report);
  CheckImage(c, path, report);
  if (!c.working_dir.empty() && !c.working_dir.starts_with('/'))
    report.Problem(Path{.parent = &path, .key = "workingDir"},
                   "Invalid value: \"" + Printable(c.working_dir, 80) + "\": must be an absolute path");
  CheckEnv(c.env, path, report);
  CheckContainerResources(c.resources, Path{.parent = &path, .key = "resources"}, report);
}

void CheckContainers(const Pod& pod, const std::vector<Container>& containers, const Path& list,
                     std::set<std::string_view>& names, Report& report) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
    CheckContainer(containers[i], item, names, report);
    CheckContainerChecks(pod, containers[i], item, report);
  }
}

void CheckEnds(const Pod& pod, const Path& spec, Report& report) {
  constexpr std::int64_t kLongestActive = std::numeric_limits<std::int32_t>::max();
  if (pod.active_deadline_s && (*pod.active_deadline_s < 1 || *pod.active_deadline_s > kLongestActive))
    report.Problem(
        Path{.parent = &spec, .key = "activeDeadlineSeconds"},
        "Invalid value: " + std::to_string(*pod.active_deadline_s) + ": must be between 1 and 2147483647, inclusive");
  if (!pod.os.empty() && pod.os != "linux") {
    const Path os{.parent = &spec, .key = "os"};
    report.Problem(Path{.parent = &os, .key = "name"},
                   "Unsupported value: \"" + Printable(pod.os, 40) + "\": this node runs \"linux\"");
  }
}

void CheckMetadata(const Pod& pod, const Path& root, Report& report) {
  const Path metadata{.parent = &root, .key = "metadata"};
  CheckName(CheckSubdomainName(pod.name), Path{.parent = &metadata, .key = "name"}, report);
  CheckName(CheckLabelName(pod.namespace_), Path{.parent = &metadata, .key = "namespace"}, report);
  if (!pod.uid.empty()) CheckName(CheckUid(pod.uid), Path{.parent = &metadata, .key = "uid"}, report);
  std::size_t bytes = 0;
  for (const auto& [name, value] : pod.annotations) bytes += name.size() + value.size();
  if (bytes > kMostAnnotationBytes)
    report.Problem(Path{.parent = &metadata, .key = "annotations"},
                   "Too long: " + std::to_string(bytes) + " bytes in all, names and values together, at most " +
                       std::to_string(kMostAnnotationBytes) + "; put what is large into a ConfigMap");
}

void CheckNotNegative(const Resources& resources, const Path& path, Report& report) {
  const auto check = [&](const ResourceList& list, std::string_view key) {
    const Path at{.parent = &path, .key = key};
    for (const auto& [name, amount] : list)
      if (amount.Sign() < 0)
        report.Problem(Path{.parent = &at, .key = name, .index = -1, .entry = true},
                       "Invalid value: \"" + amount.ToString() + "\": must be greater than or equal to 0");
  };
  check(resources.requests, "requests");
  check(resources.limits, "limits");
}

void CheckUsersOf(const Pod& pod, const std::vector<Container>& containers, const Path& list, Report& report) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const SecurityContext& own = containers[i].security;
    const auto user = own.run_as_user ? own.run_as_user : pod.security.run_as_user;
    if (!own.run_as_non_root.value_or(pod.security.run_as_non_root.value_or(false)) || user.value_or(0) != 0) continue;
    const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
    const Path context{.parent = &item, .key = "securityContext"};
    report.Problem(Path{.parent = &context, .key = "runAsNonRoot"},
                   user ? "Invalid value: true: runAsUser is 0, which is root"
                        : "Invalid value: true: a plain process has no image that names a user; set runAsUser");
  }
}

void CheckCommandsOf(const std::vector<Container>& containers, const Path& list, Report& report) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Container& c = containers[i];
    if (!c.command.empty() || c.image.empty()) continue;  // neither is told by CheckPod
    const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
    report.Problem(
        Path{.parent = &item, .key = "command"},
        std::string("Required value: a plain process runs a program of the host, and the image's command is "
                    "not known") +
            (c.args.empty() ? "" : ", so args are arguments of nothing") +
            "; write command: [PROGRAM, …], or run the pod on a node with a container runtime (runtime: cri)");
  }
}

void CheckImagesOf(const std::vector<Container>& containers, const Path& list, Report& report) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Container& c = containers[i];
    if (!c.image.empty() || c.command.empty()) continue;  // neither is told by CheckPod
    const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
    report.Problem(Path{.parent = &item, .key = "image"},
                   "Required value: a container runtime makes containers of images; write image: NAME, or run the pod "
                   "on a node without one (runtime: process)");
  }
}

}  // namespace

void CheckImages(const Pod& pod, const Path& root, Report& report) {
  const Path spec{.parent = &root, .key = "spec"};
  CheckImagesOf(pod.containers, Path{.parent = &spec, .key = "containers"}, report);
  CheckImagesOf(pod.init_containers, Path{.parent = &spec, .key = "initContainers"}, report);
}

void CheckUsers(const Pod& pod, const Path& root, Report& report) {
  const Path spec{.parent = &root, .key = "spec"};
  CheckUsersOf(pod, pod.containers, Path{.parent = &spec, .key = "containers"}, report);
  CheckUsersOf(pod, pod.init_containers, Path{.parent = &spec, .key = "initContainers"}, report);
}

void CheckCommands(const Pod& pod, const Path& root, Report& report) {
  const Path spec{.parent = &root, .key = "spec"};
  CheckCommandsOf(pod.containers, Path{.parent = &spec, .key = "containers"}, report);
  CheckCommandsOf(pod.init_containers, Path{.parent = &spec, .key = "initContainers"}, report);
}

void CheckRecordedPod(const Pod& pod, const Path& root, Report& report) {
  const Path spec{.parent = &root, .key = "spec"};
  if (pod.resources) CheckNotNegative(*pod.resources, Path{.parent = &spec, .key = "resources"}, report);
  std::set<std::string_view> names;
  const auto check = [&](const std::vector<Container>& containers, std::string_view key) {
    const Path list{.parent = &spec, .key = key};
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
      const Path name{.parent = &item, .key = "name"};
      if (containers[i].name.empty()) report.Problem(name, "Required value: give the container a name");
      CheckUnique(containers[i], name, names, report);
      CheckNotNegative(containers[i].resources, Path{.parent = &item, .key = "resources"}, report);
    }
  };
  check(pod.containers, "containers");
  check(pod.init_containers, "initContainers");
}

void CheckPod(const Pod& pod, const Path& root, Report& report) {
  CheckMetadata(pod, root, report);
  const Path spec{.parent = &root, .key = "spec"};
  const Path containers{.parent = &spec, .key = "containers"};
  const Path init_containers{.parent = &spec, .key = "initContainers"};
  if (pod.containers.empty()) report.Problem(containers, "Required value: a pod needs at least one container");
  if (pod.containers.size() + pod.init_containers.size() > kMostContainers)
    return report.Problem(containers, "Too many containers, init containers included: a pod may have " +
                                          std::to_string(kMostContainers) + "; make several pods of it");
  std::set<std::string_view> names;
  CheckContainers(pod, pod.containers, containers, names, report);
  CheckContainers(pod, pod.init_containers, init_containers, names, report);
  CheckEnds(pod, spec, report);
  if (pod.termination_grace_s < 0)
    report.Problem(
        Path{.parent = &spec, .key = "terminationGracePeriodSeconds"},
        "Invalid value: " + std::to_string(pod.termination_grace_s) + ": must be greater than or equal to 0");
  if (!pod.node_name.empty())
    CheckName(CheckSubdomainName(pod.node_name), Path{.parent = &spec, .key = "nodeName"}, report);
  CheckOverhead(pod.overhead, Path{.parent = &spec, .key = "overhead"}, report);
  if (pod.resources) CheckPodResources(pod, Path{.parent = &spec, .key = "resources"}, report);
}

}  // namespace berth::manifest
