#include "node/device_manager/device_plugin_messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "base/name_validation.h"
#include "base/text.h"
#include "base/words.h"
#include "device_plugin.pb.h"
#include "node/checkpoint/alloc_response.h"
#include "plugin_registration.pb.h"

namespace berth::device_manager {
namespace {

namespace pb = ::v1beta1;

constexpr std::string_view kVersion = "v1beta1";
constexpr std::size_t kLongestName = 100;  // of a socket's file
constexpr std::size_t kMostProblems = 5;   // of one list that are told one by one

template <class Message>
Result<Message> Parse(std::string_view bytes, std::string_view what) {
  Message out;
  if (!out.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Fail(Code::kInvalid, fmt::format("this is no {}", what));
  return out;
}

/// "vendor.example/gpu": what the kubelet takes for an extended resource.
bool IsExtendedResource(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && !name.substr(0, slash).ends_with("kubernetes.io") &&
         !name.starts_with("requests.") && IsQualifiedName(name);
}

bool IsFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name != "kubelet.sock" && name.size() <= kLongestName &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

NodeSet NodesOf(const pb::Device& device, const NodeSet& nodes, std::vector<std::string>& problems) {
  NodeSet out;
  for (const pb::NUMANode& node : device.topology().nodes()) {
    if (node.id() >= 0 && node.id() <= kMaxId && nodes.Contains(NumaId{static_cast<std::uint32_t>(node.id())}))
      out.Insert(NumaId{static_cast<std::uint32_t>(node.id())});
    else
      problems.push_back(fmt::format("device {} is on NUMA node {}, which this machine does not have",
                                     Printable(device.id()), node.id()));
  }
  return out;
}

void Shorten(std::vector<std::string>& problems) {
  if (problems.size() <= kMostProblems) return;
  const std::size_t more = problems.size() - kMostProblems;
  problems.resize(kMostProblems);
  problems.push_back("and " + Counted(static_cast<std::int64_t>(more), "problem") + " more");
}

Result<void> CheckPaths(std::string_view what, const std::string& container, const std::string& host) {
  for (const std::string* path : {&container, &host})
    if (!path->starts_with('/') || path->find('\0') != std::string::npos)
      return Fail(Code::kInvalid, fmt::format("the path '{}' of a {} is not absolute", Printable(*path), what));
  return {};
}

Result<void> CheckAnswer(const DeviceAnswer& answer) {
  for (const auto& [name, value] : answer.env)
    if (name.empty() || name.find('=') != std::string::npos || (name + value).find('\0') != std::string::npos)
      return Fail(Code::kInvalid, fmt::format("'{}' cannot be a variable of a container", Printable(name)));
  for (const DeviceMount& mount : answer.mounts)
    BERTH_RETURN_IF_ERROR(CheckPaths("mount", mount.container_path, mount.host_path));
  for (const DeviceNode& node : answer.device_nodes) {
    BERTH_RETURN_IF_ERROR(CheckPaths("device node", node.container_path, node.host_path));
    if (node.permissions.find_first_not_of("rwm") != std::string::npos)
      return Fail(Code::kInvalid, fmt::format("'{}' of device node {} are no permissions: only r, w and m are",
                                              Printable(node.permissions), Printable(node.host_path)));
  }
  return {};
}

template <class Message>
std::string Written(const Message& message) {
  return message.SerializeAsString();
}

}  // namespace

Result<Registration> ReadRegistration(std::string_view bytes) {
  BERTH_TRY(const pb::RegisterRequest request, Parse<pb::RegisterRequest>(bytes, "RegisterRequest"));
  return Registration{
      .version = request.version(), .endpoint = request.endpoint(), .resource = request.resource_name()};
}

Result<void> CheckRegistration(const Registration& registration) {
  if (registration.version != kVersion)
    return Fail(Code::kInvalid,
                fmt::format("requested API version \"{}\" is not supported by kubelet. Supported version is [\"{}\"]",
                            Printable(registration.version), kVersion));
  if (!IsExtendedResource(registration.resource))
    return Fail(Code::kInvalid, fmt::format("the ResourceName \"{}\" is invalid", Printable(registration.resource)));
  if (!IsFileName(registration.endpoint))
    return Fail(Code::kInvalid,
                fmt::format("the endpoint \"{}\" of {} is no name of a socket in the folder of plug-ins",
                            Printable(registration.endpoint), registration.resource));
  return {};
}

Result<PluginInfo> ReadPluginInfo(std::string_view bytes) {
  BERTH_TRY(const pluginregistration::PluginInfo info, Parse<pluginregistration::PluginInfo>(bytes, "PluginInfo"));
  return PluginInfo{.type = info.type(),
                    .name = info.name(),
                    .endpoint = info.endpoint(),
                    .versions = {info.supported_versions().begin(), info.supported_versions().end()}};
}

Result<void> CheckPluginInfo(const PluginInfo& info) {
  if (std::ranges::find(info.versions, kVersion) == info.versions.end())
    return Fail(Code::kInvalid,
                fmt::format("none of the versions of {} is supported: [{}] is wanted", Printable(info.name), kVersion));
  if (!IsExtendedResource(info.name))
    return Fail(Code::kInvalid, fmt::format("the ResourceName \"{}\" is invalid", Printable(info.name)));
  if (!info.endpoint.starts_with('/') || info.endpoint.find('\0') != std::string::npos)
    return Fail(Code::kInvalid, fmt::format("the endpoint \"{}\" of {} is no absolute path of a socket",
                                            Printable(info.endpoint), info.name));
  return {};
}

std::string WriteRegistrationStatus(const Result<void>& joined) {
  pluginregistration::RegistrationStatus out;
  out.set_plugin_registered(joined.has_value());
  if (!joined) out.set_error(joined.error().message);
  return out.SerializeAsString();
}

Result<PluginOptions> ReadOptions(std::string_view bytes) {
  BERTH_TRY(const pb::DevicePluginOptions options, Parse<pb::DevicePluginOptions>(bytes, "DevicePluginOptions"));
  return PluginOptions{.pre_start = options.pre_start_required(),
                       .preferred = options.get_preferred_allocation_available()};
}

Result<DeviceList> ReadDeviceList(std::string_view bytes, const NodeSet& nodes) {
  BERTH_TRY(const pb::ListAndWatchResponse list, Parse<pb::ListAndWatchResponse>(bytes, "ListAndWatchResponse"));
  if (std::cmp_greater(list.devices_size(), kMostDevices))
    return Fail(Code::kInvalid, fmt::format("a list of {} devices: {} are the most of one resource",
                                            list.devices_size(), kMostDevices));
  DeviceList out;
  std::set<std::string_view> ids;
  for (const pb::Device& device : list.devices()) {
    if (device.id().empty() || device.id().size() > kLongestId)
      out.problems.emplace_back(device.id().empty() ? "a device has no id" : "a device's id is longer than 1024 bytes");
    else if (!ids.insert(device.id()).second)
      out.problems.push_back(fmt::format("device {} is listed twice", Printable(device.id())));
    else
      out.devices.push_back(
          {.id = device.id(), .nodes = NodesOf(device, nodes, out.problems), .healthy = device.health() == "Healthy"});
  }
  std::ranges::sort(out.devices, {}, &Device::id);
  Shorten(out.problems);
  return out;
}

Result<DeviceAnswer> ReadAllocation(std::string_view bytes) {
  if (bytes.size() > kLongestAnswer)
    return Fail(Code::kInvalid,
                fmt::format("an answer to Allocate of {} bytes: {} are the most", bytes.size(), kLongestAnswer));
  BERTH_TRY(const pb::AllocateResponse answer, Parse<pb::AllocateResponse>(bytes, "AllocateResponse"));
  if (answer.container_responses().empty()) return Fail(Code::kInvalid, "no containers return in allocation response");
  DeviceAnswer out = checkpoint::AnswerOf(answer.container_responses(0));
  BERTH_RETURN_IF_ERROR(CheckAnswer(out));
  return out;
}

Result<std::vector<std::string>> ReadPreference(std::string_view bytes) {
  BERTH_TRY(const pb::PreferredAllocationResponse answer,
            Parse<pb::PreferredAllocationResponse>(bytes, "PreferredAllocationResponse"));
  if (answer.container_responses().empty()) return std::vector<std::string>();
  const auto& ids = answer.container_responses(0).deviceids();
  return std::vector<std::string>(ids.begin(), ids.end());
}

std::string WriteAllocation(const std::vector<std::string>& ids) {
  pb::AllocateRequest out;
  out.add_container_requests()->mutable_devices_ids()->Assign(ids.begin(), ids.end());
  return Written(out);
}

std::string WritePreStart(const std::vector<std::string>& ids) {
  pb::PreStartContainerRequest out;
  out.mutable_devices_ids()->Assign(ids.begin(), ids.end());
  return Written(out);
}

std::string WritePreference(const PreferenceQuestion& question) {
  pb::PreferredAllocationRequest out;
  auto& container = *out.add_container_requests();
  container.mutable_available_deviceids()->Assign(question.available.begin(), question.available.end());
  container.mutable_must_include_deviceids()->Assign(question.must.begin(), question.must.end());
  container.set_allocation_size(question.size);
  return Written(out);
}

}  // namespace berth::device_manager
