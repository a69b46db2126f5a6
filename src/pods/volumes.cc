#include "pods/volumes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "os/beneath.h"
#include "os/lock_file.h"
#include "os/remove_tree.h"

namespace berth::pods {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kPublic = 0755;
constexpr mode_t kFile = 0644;
// As the kubelet makes emptyDir: the container's user is not known.
constexpr mode_t kForEverybody = 0777;
constexpr mode_t kOfItsGroup = S_ISGID;  // beside, with fsGroup: what is made in it belongs to the group

/// An empty one, unless it is there.
Result<void> MakeFile(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFile));
  if (!file.valid() && errno != EEXIST) return FailErrno("make the file of a volume", path, errno);
  return {};
}

Result<void> CheckHostPath(const Volume& volume) {
  const std::string& path = volume.host_path;
  if (volume.type == "DirectoryOrCreate") return os::MakeDirs(path, kPublic);
  if (volume.type.empty()) return {};
  if (volume.type == "FileOrCreate") return MakeFile(path);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  const bool fits = (volume.type == "Directory" && fs::is_directory(status)) ||
                    (volume.type == "File" && fs::is_regular_file(status)) ||
                    (volume.type == "Socket" && fs::is_socket(status)) ||
                    (volume.type == "CharDevice" && fs::is_character_file(status)) ||
                    (volume.type == "BlockDevice" && fs::is_block_file(status));
  if (fits) return {};
  return Fail(Code::kInvalid, "volume " + volume.name + ": hostPath type check failed: " + Printable(path) +
                                  " is not a " + Printable(volume.type, 40) + "; make it, or change hostPath.type");
}

/// Nothing is in it when it gets its group, so nothing below has to change.
Result<void> OpenToPod(const std::string& folder, const std::optional<std::int64_t>& fs_group) {
  const os::UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return FailErrno("open", folder, errno);
  if (fs_group && ::fchown(fd.get(), static_cast<uid_t>(-1), static_cast<gid_t>(*fs_group)) != 0)
    return FailErrno("give to its fsGroup", folder, errno);
  if (::fchmod(fd.get(), kForEverybody | (fs_group ? kOfItsGroup : 0)) != 0)
    return FailErrno("open to everybody", folder, errno);
  return {};
}

Result<std::string> SourceOf(const Pod& pod, const Volume& volume, const VolumeFolders& folders) {
  if (volume.kind == Volume::Kind::kOther)
    return Fail(Code::kUnsupported,
                "volume " + volume.name + " is a " + Printable(volume.type, 60) + "; Berth has hostPath and emptyDir");
  if (volume.kind == Volume::Kind::kHostPath) {
    BERTH_RETURN_IF_ERROR(CheckHostPath(volume));
    return volume.host_path;
  }
  std::string folder = fmt::format("{}/{}/{}", volume.in_memory ? folders.memory : folders.disk, pod.uid, volume.name);
  BERTH_RETURN_IF_ERROR(os::MakeDirs(folder, kPublic));
  BERTH_RETURN_IF_ERROR(OpenToPod(folder, pod.security.fs_group));
  return folder;
}

/// Holds a path of a volume at `pin`, which nobody but us can change.
Result<void> Pin(const std::string& volume, const std::string& sub_path, const std::string& pin) {
  auto found = os::OpenBeneath(volume, sub_path);
  if (!found && found.error().code == Code::kNotFound) found = os::MakeDirsBeneath(volume, sub_path, kPublic);
  if (!found) return std::unexpected(std::move(found).error());
  return os::BindAt(*found, pin);
}

}  // namespace

Result<std::vector<runtime::BoundMount>> MountsOf(const Pod& pod, const Container& container,
                                                  const VolumeFolders& folders) {
  std::vector<runtime::BoundMount> out;
  for (const VolumeMount& mount : container.mounts) {
    const auto volume = std::ranges::find(pod.volumes, mount.name, &Volume::name);
    if (volume == pod.volumes.end())
      return Fail(Code::kInvalid, "container " + container.name + " mounts volume " + Printable(mount.name, 80) +
                                      ", which is not in spec.volumes");
    BERTH_TRY(std::string source, SourceOf(pod, *volume, folders));
    if (!mount.sub_path.empty()) {
      std::string pin = fmt::format("{}/{}/{}-{}", folders.pins, pod.uid, container.name, out.size());
      BERTH_RETURN_IF_ERROR(Pin(source, mount.sub_path, pin));
      source = std::move(pin);
    }
    out.push_back({.container_path = mount.mount_path,
                   .host_path = std::move(source),
                   .read_only = mount.read_only,
                   .propagation = mount.propagation,
                   .recursive_read_only = mount.recursive_read_only});
  }
  return out;
}

Result<void> RemoveVolumes(const std::string& uid, const VolumeFolders& folders) {
  std::error_code error;
  // One by one, and only what is not mounted any more: what is behind a pin is not ours to remove.
  const std::string pins = folders.pins + "/" + uid;
  for (fs::directory_iterator entry(pins, error), end; !error && entry != end; entry.increment(error)) [[maybe_unused]]
    const auto removed = os::Unbind(entry->path().string());
  fs::remove(pins, error);
  auto disk = os::RemoveTree(folders.disk + "/" + uid);
  auto memory = os::RemoveTree(folders.memory + "/" + uid);
  return disk ? std::move(memory) : std::move(disk);
}

SecurityContext WithPodDefaults(SecurityContext container, const SecurityContext& pod) {
  if (!container.run_as_user) container.run_as_user = pod.run_as_user;
  if (!container.run_as_group) container.run_as_group = pod.run_as_group;
  if (!container.run_as_non_root) container.run_as_non_root = pod.run_as_non_root;
  if (!container.se_linux) container.se_linux = pod.se_linux;
  if (container.app_armor.empty()) {
    container.app_armor = pod.app_armor;
    container.app_armor_localhost = pod.app_armor_localhost;
  }
  if (container.seccomp.empty()) {
    container.seccomp = pod.seccomp;
    container.seccomp_localhost = pod.seccomp_localhost;
  }
  container.fs_group = pod.fs_group;
  container.supplemental_groups = pod.supplemental_groups;
  container.supplemental_groups_policy = pod.supplemental_groups_policy;
  return container;
}

}  // namespace berth::pods
