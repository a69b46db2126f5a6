// CRI pod sandbox and container configurations of a StartRequest. Pure.
#ifndef BERTH_RUNTIME_CRI_CRI_SPECS_H_
#define BERTH_RUNTIME_CRI_CRI_SPECS_H_

#include <optional>
#include <string>
#include <string_view>

#include "model/cgroup_values.h"
#include "runtime/cri/cri_values.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::cri {

// Labels as the kubelet writes them, and ours.
inline constexpr const char* kPodName = "io.kubernetes.pod.name";
inline constexpr const char* kPodNamespace = "io.kubernetes.pod.namespace";
inline constexpr const char* kPodUid = "io.kubernetes.pod.uid";
inline constexpr const char* kContainerName = "io.kubernetes.container.name";
inline constexpr const char* kOwner = "berth.dev/owner";
// Annotations of containers.
inline constexpr const char* kAttempt = "io.kubernetes.container.restartCount";
inline constexpr const char* kHash = "io.kubernetes.container.hash";
inline constexpr const char* kGrace = "io.kubernetes.pod.terminationGracePeriod";
inline constexpr const char* kMessagePath = "io.kubernetes.container.terminationMessagePath";
inline constexpr const char* kMessagePolicy = "io.kubernetes.container.terminationMessagePolicy";

/// "": it has no such label.
std::string LabelOf(const ContainerEntry& entry, const char* name);

/// `v2`: where values that only v2 has are said too. Values that are not set are left to the runtime.
Resources ResourcesOf(const CgroupValues& values, int oom_score_adj, bool v2);
/// Without what depends on the node's settings: names, DNS, the runtime's handler.
SandboxSpec SandboxOf(const runtime::StartRequest& request, std::string_view owner, std::uint32_t attempt);
/// The kubelet's hash of a container (since 1.31), as its annotation has it.
std::string HashOf(const Container& container);
/// Without image and resources.
ContainerSpec ContainerOf(const runtime::StartRequest& request, std::string_view owner);
/// Why a container that must not run as root cannot be known to do so; "": it may be made.
std::string RootProblem(const SecurityContext& security, const Image& image);
/// Why CDI devices cannot be given to containers of this runtime, which would leave them out without a word; "": they
/// can, as far as its version says, and its configuration (`enabled`; nullopt: it does not say).
std::string CdiProblem(std::string_view runtime, std::string_view version, std::optional<bool> enabled);
/// nullopt: not one of ours (labels missing).
std::optional<runtime::ContainerStatus> StatusOf(const ContainerEntry& entry);

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_CRI_SPECS_H_
