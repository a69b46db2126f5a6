// The device plug-in interface from both sides. What plug-ins send: never more than the limits, paths of answers are
// absolute, and what was read says the same when it is written and read again. What berthd sends them: a plug-in reads
// what was meant.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "device_plugin.pb.h"
#include "node/device_manager/device_plugin_messages.h"
#include "plugin_registration.pb.h"

using berth::Device;
using berth::DeviceAnswer;
using berth::DeviceMount;
using berth::DeviceNode;
using berth::NodeSet;
using berth::NumaId;

namespace {

namespace device_manager = berth::device_manager;
namespace pb = ::v1beta1;

using Ids = std::vector<std::string>;

template <class Message>
Message Parsed(const std::string& bytes) {
  Message out;
  BERTH_CHECK(out.ParseFromString(bytes));
  return out;
}

template <class Repeated>
Ids AsIds(const Repeated& words) {
  return {words.begin(), words.end()};
}

template <class T>
bool Is(const berth::Result<T>& read, const T& value) {
  return read && *read == value;
}

void Registration(std::string_view bytes) {
  const auto read = device_manager::ReadRegistration(bytes);
  if (!read) return;
  static_cast<void>(device_manager::CheckRegistration(*read));
  pb::RegisterRequest again;
  again.set_version(read->version);
  again.set_endpoint(read->endpoint);
  again.set_resource_name(read->resource);
  const auto second = device_manager::ReadRegistration(again.SerializeAsString());
  BERTH_CHECK(second && second->version == read->version && second->endpoint == read->endpoint &&
              second->resource == read->resource);
}

/// And what the plug-in is told of it.
void Info(std::string_view bytes) {
  const auto read = device_manager::ReadPluginInfo(bytes);
  if (!read) return;
  pluginregistration::PluginInfo again;
  again.set_type(read->type);
  again.set_name(read->name);
  again.set_endpoint(read->endpoint);
  again.mutable_supported_versions()->Assign(read->versions.begin(), read->versions.end());
  BERTH_CHECK(Is(device_manager::ReadPluginInfo(again.SerializeAsString()), *read));
  const auto joined = device_manager::CheckPluginInfo(*read);
  const auto told = Parsed<pluginregistration::RegistrationStatus>(device_manager::WriteRegistrationStatus(joined));
  BERTH_CHECK(told.plugin_registered() == joined.has_value());
  BERTH_CHECK(told.error() == (joined ? "" : joined.error().message));
}

void Options(std::string_view bytes) {
  const auto read = device_manager::ReadOptions(bytes);
  if (!read) return;
  pb::DevicePluginOptions again;
  again.set_pre_start_required(read->pre_start);
  again.set_get_preferred_allocation_available(read->preferred);
  BERTH_CHECK(Is(device_manager::ReadOptions(again.SerializeAsString()), *read));
}

/// What was taken of a list has nothing wrong any more.
void List(std::string_view bytes) {
  const NodeSet nodes{NumaId{0}, NumaId{1}};
  const auto read = device_manager::ReadDeviceList(bytes, nodes);
  if (!read) return;
  pb::ListAndWatchResponse again;
  for (const Device& device : read->devices) {
    BERTH_CHECK(!device.id.empty() && device.id.size() <= device_manager::kLongestId && device.nodes.Count() <= 2);
    pb::Device& written = *again.add_devices();
    written.set_id(device.id);
    written.set_health(device.healthy ? "Healthy" : "Unhealthy");
    for (const NumaId node : device.nodes)
      written.mutable_topology()->add_nodes()->set_id(static_cast<std::int64_t>(node));
  }
  const auto second = device_manager::ReadDeviceList(again.SerializeAsString(), nodes);
  BERTH_CHECK(second && second->devices == read->devices && second->problems.empty());
}

void Allocation(std::string_view bytes) {
  const auto read = device_manager::ReadAllocation(bytes);
  if (!read) return;
  pb::AllocateResponse again;
  pb::ContainerAllocateResponse& first = *again.add_container_responses();
  first.mutable_envs()->insert(read->env.begin(), read->env.end());
  first.mutable_annotations()->insert(read->annotations.begin(), read->annotations.end());
  for (const DeviceMount& mount : read->mounts) {
    BERTH_CHECK(mount.host_path.starts_with('/') && mount.container_path.starts_with('/'));
    pb::Mount& written = *first.add_mounts();
    written.set_container_path(mount.container_path);
    written.set_host_path(mount.host_path);
    written.set_read_only(mount.read_only);
  }
  for (const DeviceNode& node : read->device_nodes) {
    BERTH_CHECK(node.host_path.starts_with('/') && node.container_path.starts_with('/'));
    pb::DeviceSpec& written = *first.add_devices();
    written.set_container_path(node.container_path);
    written.set_host_path(node.host_path);
    written.set_permissions(node.permissions);
  }
  for (const std::string& name : read->cdi_devices) first.add_cdi_devices()->set_name(name);
  const std::string written = again.SerializeAsString();
  if (written.size() <= device_manager::kLongestAnswer) BERTH_CHECK(Is(device_manager::ReadAllocation(written), *read));
}

/// What a plug-in prefers is what it is asked for next.
void Preferred(std::string_view bytes) {
  const auto ids = device_manager::ReadPreference(bytes);
  if (!ids) return;
  const auto allocate = Parsed<pb::AllocateRequest>(device_manager::WriteAllocation(*ids));
  BERTH_CHECK(allocate.container_requests_size() == 1);
  BERTH_CHECK(AsIds(allocate.container_requests(0).devices_ids()) == *ids);
  const auto start = Parsed<pb::PreStartContainerRequest>(device_manager::WritePreStart(*ids));
  BERTH_CHECK(AsIds(start.devices_ids()) == *ids);
}

/// `bytes`: the question as a plug-in would read it.
void Question(std::string_view bytes) {
  pb::ContainerPreferredAllocationRequest wanted;
  if (!wanted.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const device_manager::PreferenceQuestion question{.available = AsIds(wanted.available_deviceids()),
                                                    .must = AsIds(wanted.must_include_deviceids()),
                                                    .size = wanted.allocation_size()};
  const auto read = Parsed<pb::PreferredAllocationRequest>(device_manager::WritePreference(question));
  BERTH_CHECK(read.container_requests_size() == 1);
  const pb::ContainerPreferredAllocationRequest& heard = read.container_requests(0);
  BERTH_CHECK(AsIds(heard.available_deviceids()) == question.available);
  BERTH_CHECK(AsIds(heard.must_include_deviceids()) == question.must);
  BERTH_CHECK(heard.allocation_size() == question.size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr void (*kKinds[])(std::string_view) = {Registration, Info, Options, List, Allocation, Preferred, Question};
  if (size == 0) return 0;
  kKinds[data[0] % std::size(kKinds)]({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
