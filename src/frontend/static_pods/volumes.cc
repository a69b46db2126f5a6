#include "frontend/static_pods/volumes.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "frontend/static_pods/volume_files.h"
#include "host/os/beneath.h"
#include "host/os/file_set.h"
#include "host/os/lock_file.h"
#include "host/os/remove_tree.h"
#include "host/os/volume_mount.h"

namespace berth::pods {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kPublic = 0755;
constexpr mode_t kFile = 0644;
// As the kubelet makes emptyDir: the container's user is not known.
constexpr mode_t kForEverybody = 0777;
// Of the files of one volume, while they are replaced too.
constexpr Bytes kFilesSize{static_cast<std::int64_t>(5 * kMostFileBytes / 2)};
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

std::string PlaceOf(const std::string& folder, const Pod& pod, const Volume& volume) {
  return fmt::format("{}/{}/{}", folder, pod.uid, volume.name);
}

std::optional<gid_t> GroupOf(const Pod& pod) {
  return pod.security.fs_group ? std::optional(static_cast<gid_t>(*pod.security.fs_group)) : std::nullopt;
}

/// What all its containers together may have of it; nullopt: nothing bounds that.
std::optional<Bytes> LimitOf(const Pod& pod, std::string_view resource) {
  const auto in = [&](const ResourceList& list) {
    const auto at = list.find(resource);
    return at == list.end() || at->second.IsZero() ? std::nullopt : std::optional(Bytes{at->second.Value()});
  };
  if (pod.resources)
    if (const auto own = in(pod.resources->limits)) return own;
  bool all = true;
  ForEachContainer(pod, [&](const Container& c, ContainerKind) { all = all && in(c.resources.limits).has_value(); });
  return all || resource != "memory" ? in(PodLimits(pod)) : std::nullopt;
}

/// As the kubelet sizes it: what the node has for pods, the pod's limit, the volume's, whichever is least.
std::optional<Bytes> SizeOf(const Pod& pod, const Volume& volume, std::optional<Bytes> most,
                            std::string_view resource) {
  const auto take = [&](std::optional<Bytes> bound) {
    if (bound && bound->v > 0 && (!most || *bound < *most)) most = bound;
  };
  take(LimitOf(pod, resource));
  if (volume.size_limit) take(Bytes{volume.size_limit->Value()});
  return most;
}

/// "2Mi" of the medium HugePages-2Mi, or what the pod's containers ask for.
std::string PageOf(const Pod& pod, const Volume& volume) {
  constexpr std::string_view kMedium = "HugePages-";
  constexpr std::string_view kResource = "hugepages-";
  if (volume.medium.starts_with(kMedium)) return volume.medium.substr(kMedium.size());
  std::string out;
  for (const auto& [name, amount] : PodLimits(pod))
    if (name.starts_with(kResource) && !amount.IsZero()) out = name.substr(kResource.size());
  return out;
}

Result<void> MakeHugePages(const Pod& pod, const Volume& volume, const std::string& place) {
  const std::string page = PageOf(pod, volume);
  const auto size = Quantity::Parse(page);
  if (!size)
    return Fail(Code::kInvalid, "volume " + volume.name + ": no container of the pod asks for hugepages-<size>");
  return os::MountHugePages(place, Bytes{size->Value()}, SizeOf(pod, volume, std::nullopt, "hugepages-" + page));
}

/// A folder of root's below which what is mounted can be taken off again everywhere.
Result<void> MakePodFolder(const Pod& pod, const VolumeFolders& folders) {
  return os::MakeSharedFolder(folders.memory, pod.uid);
}

Result<void> MakeFiles(const Pod& pod, const Volume& volume, const VolumeParts& parts, const std::string& place) {
  BERTH_TRY(const os::FileSet files, FilesOf(pod, volume, parts.node));
  BERTH_RETURN_IF_ERROR(MakePodFolder(pod, parts.folders));
  BERTH_RETURN_IF_ERROR(os::MountMemory(place, kFilesSize, /*own=*/true));
  BERTH_TRY([[maybe_unused]] const bool changed, os::ReplaceFiles(place, files, GroupOf(pod)));
  return {};
}

Result<std::string> MakeEmptyDir(const Pod& pod, const Volume& volume, const VolumeParts& parts) {
  if (volume.medium.empty()) {
    std::string folder = PlaceOf(parts.folders.disk, pod, volume);
    BERTH_RETURN_IF_ERROR(os::MakeDirs(folder, kPublic));
    return folder;
  }
  BERTH_RETURN_IF_ERROR(MakePodFolder(pod, parts.folders));
  std::string place = PlaceOf(parts.folders.memory, pod, volume);
  if (volume.medium != "Memory") {
    BERTH_RETURN_IF_ERROR(MakeHugePages(pod, volume, place));
    return place;
  }
  const auto of_node = parts.node.allocatable.find("memory");
  const std::optional<Bytes> most =
      of_node == parts.node.allocatable.end() ? std::nullopt : std::optional(Bytes{of_node->second.Value()});
  BERTH_RETURN_IF_ERROR(os::MountMemory(place, SizeOf(pod, volume, most, "memory"), /*own=*/false));
  return place;
}

Result<std::string> SourceOf(const Pod& pod, const Volume& volume, const VolumeParts& parts) {
  switch (volume.kind) {
    case Volume::Kind::kOther: break;
    case Volume::Kind::kHostPath: BERTH_RETURN_IF_ERROR(CheckHostPath(volume)); return volume.host_path;
    case Volume::Kind::kFiles: {
      std::string place = PlaceOf(parts.folders.memory, pod, volume);
      BERTH_RETURN_IF_ERROR(MakeFiles(pod, volume, parts, place));
      return place;
    }
    case Volume::Kind::kEmptyDir: {
      BERTH_TRY(std::string folder, MakeEmptyDir(pod, volume, parts));
      BERTH_RETURN_IF_ERROR(OpenToPod(folder, pod.security.fs_group));
      return folder;
    }
  }
  return Fail(Code::kUnsupported, "volume " + volume.name + " is a " + Printable(volume.type, 60) +
                                      "; Berth has hostPath, emptyDir, configMap, secret, downwardAPI and projected");
}

/// subPath, or subPathExpr with the container's variables in it. Errors: kInvalid for a variable it has not.
Result<std::string> SubPathOf(const VolumeMount& mount, const runtime::Environment& env) {
  if (mount.sub_path_expr.empty()) return mount.sub_path;
  std::string missing;
  auto path = runtime::ExpandReferences(mount.sub_path_expr, [&](std::string_view name) -> const std::string* {
    const auto found = std::ranges::find(env, name, &std::pair<std::string, std::string>::first);
    if (found != env.end() && !found->second.empty()) return &found->second;
    missing = name;
    return nullptr;
  });
  const std::string where = "subPathExpr " + Printable(mount.sub_path_expr, 80);
  if (!missing.empty())
    return Fail(Code::kInvalid,
                where + ": the container has no variable " + Printable(missing, 80) + ", or it is empty");
  if (!path) return path;
  if (path->starts_with('/'))
    return Fail(Code::kInvalid, where + ": it comes to " + Printable(*path, 80) + ", which must be a relative path");
  return path;
}

/// Holds a path of a volume at `pin`, which nobody but us can change.
Result<void> Pin(const std::string& volume, const std::string& sub_path, bool make, const std::string& pin) {
  auto found = os::OpenBeneath(volume, sub_path);
  if (!found && found.error().code == Code::kNotFound && make) found = os::MakeDirsBeneath(volume, sub_path, kPublic);
  if (!found) return std::unexpected(std::move(found).error());
  return os::BindAt(*found, pin);
}

}  // namespace

std::string VolumeQueue(std::string_view uid) {
  constexpr std::size_t kQueues = 3;  // of the executor's eight threads
  return fmt::format("mounts/{}", std::hash<std::string_view>()(uid) % kQueues);
}

Result<std::vector<runtime::BoundMount>> MountsOf(const Pod& pod, const Container& container,
                                                  const VolumeParts& parts) {
  std::vector<runtime::BoundMount> out;
  for (const VolumeMount& mount : container.mounts) {
    const auto volume = std::ranges::find(pod.volumes, mount.name, &Volume::name);
    if (volume == pod.volumes.end())
      return Fail(Code::kInvalid, "container " + container.name + " mounts volume " + Printable(mount.name, 80) +
                                      ", which is not in spec.volumes");
    BERTH_TRY(std::string source, SourceOf(pod, *volume, parts));
    BERTH_TRY(const std::string sub_path, SubPathOf(mount, parts.env));
    const bool files = volume->kind == Volume::Kind::kFiles;
    if (!sub_path.empty()) {
      std::string pin = fmt::format("{}/{}/{}-{}", parts.folders.pins, pod.uid, container.name, out.size());
      BERTH_RETURN_IF_ERROR(Pin(source, sub_path, /*make=*/!files, pin));
      source = std::move(pin);
    }
    out.push_back({.container_path = mount.mount_path,
                   .host_path = std::move(source),
                   .read_only = mount.read_only || files,
                   .propagation = mount.propagation,
                   .recursive_read_only = mount.recursive_read_only,
                   .own_files = volume->kind != Volume::Kind::kHostPath});
  }
  return out;
}

std::vector<std::string> RefreshVolumes(const Pod& pod, const VolumeFolders& folders, const runtime::NodeFacts& node) {
  std::vector<std::string> out;
  for (const Volume& volume : pod.volumes) {
    if (volume.kind != Volume::Kind::kFiles) continue;
    const std::string place = PlaceOf(folders.memory, pod, volume);
    if (!os::IsMountPoint(place)) continue;  // no container has asked for it yet
    const auto files = FilesOf(pod, volume, node);
    const Result<bool> done =
        files ? os::ReplaceFiles(place, *files, GroupOf(pod)) : Result<bool>(std::unexpected(files.error()));
    if (!done) out.push_back(done.error().message + "; the volume keeps the content it had");
  }
  return out;
}

bool TakesDocuments(const Pod& pod) {
  const auto has_source = [](const Volume& volume) {
    return std::ranges::any_of(volume.sources, [](const VolumeSource& source) { return source.document.has_value(); });
  };
  bool takes = std::ranges::any_of(pod.volumes, has_source);
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    takes = takes || !container.env_from.empty() ||
            std::ranges::any_of(container.env, [](const EnvVar& var) { return var.document.has_value(); });
  });
  return takes;
}

Result<void> RemoveVolumes(const std::string& uid, const VolumeFolders& folders) {
  std::error_code error;
  // One by one, and only what is not mounted any more: what is behind a pin is not ours to remove.
  const std::string pins = folders.pins + "/" + uid;
  for (fs::directory_iterator entry(pins, error), end; !error && entry != end; entry.increment(error)) [[maybe_unused]]
    const auto removed = os::Unbind(entry->path().string());
  fs::remove(pins, error);
  const std::string mounts = folders.memory + "/" + uid;
  error.clear();
  for (fs::directory_iterator entry(mounts, error), end; !error && entry != end; entry.increment(error))
    if (os::IsMountPoint(entry->path().string())) [[maybe_unused]]
      const auto removed = os::Unbind(entry->path().string());
  auto disk = os::RemoveTree(folders.disk + "/" + uid);
  auto memory = os::RemoveTree(mounts);
  os::DropSharing(folders.memory);
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
