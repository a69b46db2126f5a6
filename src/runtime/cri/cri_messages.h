// Values of the interface as its protobuf messages, and back. Pure; text of the runtime is taken as it is but for
// messages to people. Internal to the component.
#ifndef BERTH_RUNTIME_CRI_CRI_MESSAGES_H_
#define BERTH_RUNTIME_CRI_CRI_MESSAGES_H_

#include <google/protobuf/map.h>

#include <optional>
#include <string>

#include "cri.pb.h"
#include "runtime/cri/cri_values.h"

namespace berth::cri {

namespace pb = ::runtime::v1;
using TextMap = google::protobuf::Map<std::string, std::string>;

// `to` is empty before.
void Put(const Labels& from, TextMap& to);
void Put(const Resources& from, pb::LinuxContainerResources& to);
void Put(const SandboxSpec& from, pb::PodSandboxConfig& to);
void Put(const ContainerSpec& from, pb::ContainerConfig& to);
void Put(const Credentials& from, pb::AuthConfig& to);

Sandbox TakeSandbox(const pb::PodSandbox& from);
/// Without what only an answer of Status has.
ContainerEntry TakeContainer(const pb::Container& from);
/// All of it but the sandbox's id, which this answer does not have.
ContainerEntry TakeStatus(const pb::ContainerStatusResponse& answer);
/// Whether CDI devices are given to containers, of a verbose answer; nullopt: it does not say.
std::optional<bool> EnablesCdi(const pb::StatusResponse& answer);
/// Whether some CNI plug-in has the capability, of a verbose answer; false: no, or it does not say.
bool CniHas(const pb::StatusResponse& answer, const char* capability);
Image TakeImage(const pb::Image& from);

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_CRI_MESSAGES_H_
