#include "runtime/lifecycle/device_grants.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace berth::runtime {
namespace {

Result<void> CheckGrantedPath(const std::string& resource, std::string_view what, const std::string& path) {
  const std::vector<std::string_view> parts = Split(path, '/');
  const bool sound = path.starts_with('/') && !path.contains('\0') && std::ranges::find(parts, "..") == parts.end();
  if (sound) return {};
  return Fail(Code::kInvalid, "resource " + Printable(resource, 80) + ": its devices come with " + std::string(what) +
                                  " \"" + Printable(path, 200) +
                                  "\", and a path must be absolute, without \"..\"; the plug-in is to be mended");
}

/// Who said what first.
class Merger {
 public:
  explicit Merger(DeviceGrants& out) : out_(out) {}

  Result<void> Add(const DeviceAssignment& given) {
    const DeviceAnswer& answer = *given.answer;
    const std::string& resource = given.resource;
    for (const auto& [name, value] : answer.env) {
      if (name.size() + 1 + value.size() > kLongestWord)
        return Fail(Code::kInvalid, "resource " + Printable(resource, 80) + ": its devices come with a variable " +
                                        Printable(name, 80) + " of " + std::to_string(name.size() + 1 + value.size()) +
                                        " bytes, and Linux hands at most " + std::to_string(kLongestWord) +
                                        " to a program; the plug-in is to be mended");
      if (name.empty() || name.contains('=') || (name + value).contains('\0'))
        return Fail(Code::kInvalid, "resource " + Printable(resource, 80) + ": its devices come with a variable \"" +
                                        Printable(name, 80) + "\", which no program can have");
      if (IsFirst("env", name, resource)) out_.all.env.emplace(name, value);
    }
    for (const DeviceMount& mount : answer.mounts) {
      BERTH_RETURN_IF_ERROR(CheckGrantedPath(resource, "a mount at", mount.container_path));
      BERTH_RETURN_IF_ERROR(CheckGrantedPath(resource, "a mount of", mount.host_path));
      if (IsFirst("mount", mount.container_path, resource)) out_.all.mounts.push_back(mount);
    }
    for (const DeviceNode& node : answer.device_nodes) {
      BERTH_RETURN_IF_ERROR(CheckGrantedPath(resource, "a device node at", node.container_path));
      BERTH_RETURN_IF_ERROR(CheckGrantedPath(resource, "the device node", node.host_path));
      if (IsFirst("device", node.container_path, resource)) out_.all.device_nodes.push_back(node);
    }
    for (const auto& [key, value] : answer.annotations)
      if (IsFirst("annotation", key, resource)) out_.all.annotations.emplace(key, value);
    for (const std::string& name : answer.cdi_devices)
      if (std::ranges::find(out_.all.cdi_devices, name) == out_.all.cdi_devices.end())
        out_.all.cdi_devices.push_back(name);
    return {};
  }

 private:
  bool IsFirst(std::string_view what, const std::string& name, const std::string& resource) {
    const auto [at, first] = first_.try_emplace({what, name}, resource);
    if (!first)
      out_.conflicts.push_back(std::string(what) + " " + Printable(name, 200) + " of " + Printable(resource, 80) +
                               ": " + Printable(at->second, 80) + " says it first");
    return first;
  }

  DeviceGrants& out_;
  std::map<std::pair<std::string_view, std::string>, std::string> first_;
};

}  // namespace

Result<DeviceGrants> GrantsOf(const std::vector<DeviceAssignment>& devices) {
  DeviceGrants out;
  std::vector<const DeviceAssignment*> by_name;
  for (const DeviceAssignment& given : devices)
    if (given.answer) by_name.push_back(&given);
  std::ranges::stable_sort(by_name, {}, [](const DeviceAssignment* given) { return given->resource; });
  Merger merger(out);
  for (const DeviceAssignment* const given : by_name) BERTH_RETURN_IF_ERROR(merger.Add(*given));
  return out;
}

Environment WithDevices(const DeviceAnswer& devices, Environment own) {
  Environment out;
  for (const auto& variable : devices.env)
    if (std::ranges::find(own, variable.first, &Environment::value_type::first) == own.end()) out.push_back(variable);
  std::ranges::move(own, std::back_inserter(out));
  return out;
}

std::vector<BoundMount> WithDevices(const DeviceAnswer& devices, std::vector<BoundMount> own,
                                    std::vector<std::string>& conflicts) {
  std::vector<BoundMount> out;
  for (const DeviceMount& mount : devices.mounts) {
    if (std::ranges::find(own, mount.container_path, &BoundMount::container_path) == own.end())
      out.push_back(
          {.container_path = mount.container_path, .host_path = mount.host_path, .read_only = mount.read_only});
    else
      conflicts.push_back("mount " + Printable(mount.container_path, 200) + ": the container mounts a volume there");
  }
  std::ranges::move(own, std::back_inserter(out));
  return out;
}

Result<void> CheckThere(const std::vector<DeviceNode>& nodes) {
  for (const DeviceNode& node : nodes) {
    struct stat of{};
    if (::stat(node.host_path.c_str(), &of) != 0) return FailErrno("look at device node", node.host_path, errno);
    if (!S_ISCHR(of.st_mode) && !S_ISBLK(of.st_mode) && !S_ISDIR(of.st_mode))
      return Fail(Code::kInvalid, Printable(node.host_path, 200) + " is no device node");
  }
  return {};
}

}  // namespace berth::runtime
