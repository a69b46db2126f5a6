#include "node/checkpoint/alloc_response.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "device_plugin.pb.h"

namespace berth::checkpoint {

namespace pb = ::v1beta1;

std::string FormatAllocResponse(const DeviceAnswer& answer) {
  pb::ContainerAllocateResponse message;
  message.mutable_envs()->insert(answer.env.begin(), answer.env.end());
  message.mutable_annotations()->insert(answer.annotations.begin(), answer.annotations.end());
  for (const DeviceMount& mount : answer.mounts) {
    pb::Mount& out = *message.add_mounts();
    out.set_container_path(mount.container_path);
    out.set_host_path(mount.host_path);
    out.set_read_only(mount.read_only);
  }
  for (const DeviceNode& node : answer.device_nodes) {
    pb::DeviceSpec& out = *message.add_devices();
    out.set_container_path(node.container_path);
    out.set_host_path(node.host_path);
    out.set_permissions(node.permissions);
  }
  for (const std::string& name : answer.cdi_devices) message.add_cdi_devices()->set_name(name);
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);  // maps by their keys
    message.SerializeToCodedStream(&coded);
  }
  return out;
}

Result<DeviceAnswer> ParseAllocResponse(std::string_view bytes) {
  pb::ContainerAllocateResponse message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Fail(Code::kCorrupt, "not the answer of a device plugin");
  return AnswerOf(message);
}

DeviceAnswer AnswerOf(const pb::ContainerAllocateResponse& message) {
  DeviceAnswer out;
  out.env = {message.envs().begin(), message.envs().end()};
  out.annotations = {message.annotations().begin(), message.annotations().end()};
  for (const pb::Mount& mount : message.mounts())
    out.mounts.push_back({mount.container_path(), mount.host_path(), mount.read_only()});
  for (const pb::DeviceSpec& node : message.devices())
    out.device_nodes.push_back({node.container_path(), node.host_path(), node.permissions()});
  for (const pb::CDIDevice& device : message.cdi_devices()) out.cdi_devices.push_back(device.name());
  return out;
}

}  // namespace berth::checkpoint
