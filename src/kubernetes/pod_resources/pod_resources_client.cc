#include "kubernetes/pod_resources/pod_resources_client.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "podresources.pb.h"
#include "rpc/grpc/status.h"

namespace berth::pod_resources {
namespace {

constexpr os::Millis kListInPlaceOfGet{600'000};
constexpr std::size_t kLongestAnswer = std::size_t{4} << 20;  // gRPC's default, which other clients keep
constexpr std::size_t kMostDevices = 1024;  // of a container and resource; of one with more none count
constexpr std::size_t kMostResources = 64;  // of a container; more do not count
constexpr std::size_t kLongestName = 1024;  // of a device or resource; one with a longer name does not count
constexpr std::int64_t kMostNodes = 1024;   // Linux's MAX_NUMNODES

grpc::Patience For(os::Millis patience) { return {.deadline = os::SystemClock().Now() + patience}; }

bool IsNameOf(const std::string& text) { return !text.empty() && text.size() <= kLongestName; }

/// A kubelet has an entry for each device and NUMA node.
DeviceInventory DevicesIn(const v1::ContainerResources& container) {
  std::map<std::string, std::map<std::string, NodeSet>> found;
  for (const v1::ContainerDevices& entry : container.devices()) {
    const std::string& resource = entry.resource_name();
    if (!IsNameOf(resource) || (found.size() == kMostResources && !found.contains(resource))) continue;
    NodeSet nodes;
    for (const v1::NUMANode& node : entry.topology().nodes())
      if (node.id() >= 0 && node.id() < kMostNodes) nodes.Insert(NumaId{static_cast<std::uint32_t>(node.id())});
    std::map<std::string, NodeSet>& devices = found[resource];
    for (const std::string& id : entry.device_ids())
      if (IsNameOf(id) && devices.size() <= kMostDevices) devices[id] |= nodes;
  }
  DeviceInventory out;
  for (auto& [resource, devices] : found) {
    if (devices.empty() || devices.size() > kMostDevices) continue;
    std::vector<Device>& list = out[resource];
    for (auto& [id, nodes] : devices) list.push_back({.id = id, .nodes = std::move(nodes)});
  }
  return out;
}

PodDevices DevicesIn(const v1::PodResources& pod) {
  PodDevices out;
  for (const v1::ContainerResources& container : pod.containers())
    if (DeviceInventory devices = DevicesIn(container); !devices.empty())
      out.insert_or_assign(container.name(), std::move(devices));
  return out;
}

std::unexpected<Error> CannotBeRead(const std::string& method) {
  return Fail(Code::kCorrupt, "the kubelet's answer to " + method + " of its pod resources cannot be read");
}

/// The kubelet's words for a pod that it does not know and for a feature gate that is off have one code.
bool MayLackGet(Code code) { return code == Code::kUnsupported || code == grpc::CodeOf(grpc::StatusCode::kUnknown); }

}  // namespace

PodResourcesClient::PodResourcesClient(const std::string& socket, const os::Clock& clock)
    : clock_(clock), client_(grpc::UnixConnector(socket), socket, {.limits = {.message = kLongestAnswer}}) {}

Result<PodDevices> PodResourcesClient::DevicesOf(const std::string& name_space, const std::string& name,
                                                 os::Millis patience) {
  const grpc::Patience until = For(patience);
  const bool asks_get = clock_.Now() >= next_get_;
  if (asks_get) {
    auto got = Get(name_space, name, until);
    if (got || !MayLackGet(got.error().code)) return got;
  }
  BERTH_TRY(DevicesByPod all, List(until));
  const auto found = all.find({name_space, name});
  if (found == all.end()) return PodDevices();
  if (asks_get) next_get_ = clock_.Now() + kListInPlaceOfGet;
  return std::move(found->second);
}

Result<DevicesByPod> PodResourcesClient::AllDevices(os::Millis patience) { return List(For(patience)); }

Result<PodDevices> PodResourcesClient::Get(const std::string& name_space, const std::string& name,
                                           const grpc::Patience& patience) {
  v1::GetPodResourcesRequest request;
  request.set_pod_namespace(name_space);
  request.set_pod_name(name);
  BERTH_TRY(const std::string said, client_.Call("/v1.PodResourcesLister/Get", request.SerializeAsString(), patience));
  v1::GetPodResourcesResponse answer;
  if (!answer.ParseFromString(said)) return CannotBeRead("Get");
  return DevicesIn(answer.pod_resources());
}

Result<DevicesByPod> PodResourcesClient::List(const grpc::Patience& patience) {
  BERTH_TRY(const std::string said, client_.Call("/v1.PodResourcesLister/List", "", patience));
  v1::ListPodResourcesResponse answer;
  if (!answer.ParseFromString(said)) return CannotBeRead("List");
  DevicesByPod out;
  for (const v1::PodResources& pod : answer.pod_resources())
    out.insert_or_assign({pod.namespace_(), pod.name()}, DevicesIn(pod));
  return out;
}

}  // namespace berth::pod_resources
