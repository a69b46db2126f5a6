#include "host/os/own_mounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "host/os/path.h"

namespace berth::os {
namespace {

// ---- child side: async-signal-safe only ----

int CloneTree(int folder, const char* path, unsigned flags) {
  return ::open_tree(folder, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | flags);
}

int AttachTree(int tree, int folder, const char* path, unsigned flags) {
  return ::move_mount(tree, "", folder, path, MOVE_MOUNT_F_EMPTY_PATH | flags) == 0 ? 0 : errno;
}

int SetTree(int tree, const char* path, unsigned flags, std::uint64_t attributes, std::uint64_t propagation) {
  mount_attr attr{};
  attr.attr_set = attributes;
  attr.propagation = propagation;
  return ::mount_setattr(tree, path, flags, &attr, sizeof attr) == 0 ? 0 : errno;
}

/// No link is followed, wherever somebody put one meanwhile.
int OpenPlace(int folder, const char* path, std::uint64_t beneath) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | beneath;
  return static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
}

/// /dev and /proc stay as they are.
int MakeAllReadOnly() {
  constexpr std::array<const char*, 2> kKept = {"/dev", "/proc"};
  std::array<int, kKept.size()> trees{};
  for (std::size_t i = 0; i < kKept.size(); ++i)
    if (trees[i] = CloneTree(AT_FDCWD, kKept[i], 0); trees[i] < 0) return errno;
  if (const int sys = SetTree(AT_FDCWD, "/", AT_RECURSIVE, MOUNT_ATTR_RDONLY, MS_PRIVATE); sys != 0) return sys;
  for (std::size_t i = 0; i < kKept.size(); ++i)
    if (const int sys = AttachTree(trees[i], AT_FDCWD, kKept[i], 0); sys != 0) return sys;
  return 0;
}

/// A tmpfs that is mounted nowhere yet.
int NewMemory(const OwnMounts::Mirror& mirror) {
  const int context = ::fsopen("tmpfs", FSOPEN_CLOEXEC);
  if (context < 0) return -1;
  const auto set = [context](const char* key, const std::string& value) {
    return ::fsconfig(context, FSCONFIG_SET_STRING, key, value.c_str(), 0) == 0;
  };
  if (!set("mode", mirror.mode) || !set("uid", mirror.user) || !set("gid", mirror.group) ||
      ::fsconfig(context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return -1;
  return ::fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

int MakeEntry(int folder, const OwnMounts::Mirror::Entry& entry) {
  constexpr mode_t kPublicFolder = 0755;
  constexpr mode_t kPublicFile = 0644;
  const char* const name = entry.name.c_str();
  if (!entry.link.empty()) return ::symlinkat(entry.link.c_str(), folder, name) == 0 ? 0 : errno;
  if (entry.is_directory) return ::mkdirat(folder, name, kPublicFolder) == 0 || errno == EEXIST ? 0 : errno;
  return ::mknodat(folder, name, S_IFREG | kPublicFile, 0) == 0 || errno == EEXIST ? 0 : errno;
}

/// What went away since it was listed, or became something else, is left out.
int MirrorEntry(int from, int to, const OwnMounts::Mirror::Entry& entry) {
  if (const int sys = MakeEntry(to, entry); sys != 0 || !entry.link.empty()) return sys;
  const int tree = CloneTree(from, entry.name.c_str(), AT_SYMLINK_NOFOLLOW);
  if (tree < 0) return errno == ENOENT ? 0 : errno;
  const int sys = AttachTree(tree, to, entry.name.c_str(), 0);
  ::close(tree);
  return sys == ENOTDIR || sys == EISDIR ? 0 : sys;
}

int MakeMirror(const OwnMounts::Mirror& mirror, bool read_only) {
  const int original = OpenPlace(AT_FDCWD, mirror.path.c_str(), 0);
  if (original < 0) return errno;
  const int memory = NewMemory(mirror);
  if (memory < 0) return errno;
  if (const int sys = AttachTree(memory, AT_FDCWD, mirror.path.c_str(), 0); sys != 0) return sys;
  const bool is_root = mirror.path.size() == 1;
  if (is_root && (::fchdir(memory) != 0 || ::chroot(".") != 0)) return errno;
  for (const OwnMounts::Mirror::Entry& entry : mirror.entries)
    if (const int sys = MirrorEntry(original, memory, entry); sys != 0) return sys;
  for (const OwnMounts::Mirror::Entry& point : mirror.points)
    if (const int sys = MakeEntry(memory, point); sys != 0) return sys;
  ::close(original);
  const int sys = read_only ? SetTree(memory, "", AT_EMPTY_PATH, MOUNT_ATTR_RDONLY, 0) : 0;
  ::close(memory);
  return sys;
}

/// The place of a volume inside another; what is missing of it is made.
int OpenInside(int parent, const OwnMounts::Placed& placed) {
  int at = -1;
  for (std::size_t i = 0; i < placed.parts.size(); ++i) {
    const char* const part = placed.parts[i].c_str();
    if (at >= 0) ::close(at);
    at = OpenPlace(parent, part, RESOLVE_BENEATH);
    if (at >= 0 || errno != ENOENT) continue;
    // Made in the directory that was opened, not along the path once more.
    const int above = i == 0 ? ::dup(parent) : OpenPlace(parent, placed.parts[i - 1].c_str(), RESOLVE_BENEATH);
    if (above < 0) return -1;
    const char* name = part;
    for (const char* c = part; *c != 0; ++c)
      if (*c == '/') name = c + 1;
    const bool directory = placed.is_directory || i + 1 < placed.parts.size();
    const int made = directory ? ::mkdirat(above, name, 0755) : ::mknodat(above, name, S_IFREG | 0644, 0);
    const int sys = errno;
    ::close(above);
    if (made != 0 && sys != EEXIST) {
      errno = sys;
      return -1;
    }
    at = OpenPlace(parent, part, RESOLVE_BENEATH);
  }
  return at;
}

std::uint64_t KernelsWord(Volume::Propagation propagation) {
  switch (propagation) {
    case Volume::Propagation::kFromHost: return MS_SLAVE;
    case Volume::Propagation::kBoth: return MS_SHARED;
    case Volume::Propagation::kPrivate: break;
  }
  return MS_PRIVATE;
}

MountFailure Attach(const OwnMounts& plan, std::size_t i, std::span<int> fds) {
  const OwnMounts::Placed& placed = plan.volumes[i];
  const auto index = static_cast<std::int32_t>(i);
  const Volume& volume = placed.volume;
  const int place = placed.inside < 0 ? OpenPlace(AT_FDCWD, placed.path.c_str(), 0)
                                      : OpenInside(fds[static_cast<std::size_t>(placed.inside)], placed);
  if (place < 0) return {.step = MountStep::kPoint, .index = index, .sys = errno};
  int sys = SetTree(fds[i], "", AT_EMPTY_PATH | AT_RECURSIVE, 0, KernelsWord(volume.propagation));
  if (sys == 0 && volume.read_only)
    sys = SetTree(fds[i], "", AT_EMPTY_PATH | (volume.recursive_read_only ? AT_RECURSIVE : 0), MOUNT_ATTR_RDONLY, 0);
  if (sys == 0) sys = AttachTree(fds[i], place, "", MOVE_MOUNT_T_EMPTY_PATH);
  ::close(place);
  return {.step = MountStep::kAttach, .index = index, .sys = sys};
}

// ---- parent side ----

constexpr std::size_t kMostEntries = 1000;  // of a directory that is mirrored: each is a mount
constexpr int kMostLinks = 40;              // as the kernel

std::string Cleaned(std::string_view path) {
  std::string out;
  for (const std::string_view part : Split(path, '/'))
    if (!part.empty() && part != ".") out.append("/").append(part);
  return out.empty() ? "/" : out;
}

std::string Below(const std::string& folder, std::string_view name) {
  return (folder == "/" ? "/" : folder + "/") + std::string(name);
}

/// Where a path leads on this host: as far as it is there, and the rest of it.
struct PointOnHost {
  std::string there = "/";
  std::vector<std::string> missing;
  bool is_directory = true;
};

std::unexpected<Error> Impossible(const std::string& target, const std::string& why) {
  return Fail(Code::kInvalid, "mountPath " + Printable(target, 200) + ": " + why);
}

Result<PointOnHost> FindPlace(const std::string& target) {
  PointOnHost out;
  std::vector<std::string> rest;
  const auto push = [&](std::string_view path) {
    const std::vector<std::string_view> parts = Split(path, '/');
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      if (!part->empty() && *part != ".") rest.emplace_back(*part);
  };
  push(target);
  for (int links = 0; !rest.empty();) {
    if (rest.back() == "..") {
      out.there = out.there.find_last_of('/') == 0 ? "/" : FolderOf(out.there);
      rest.pop_back();
      continue;
    }
    const std::string next = Below(out.there, rest.back());
    struct stat of{};
    if (::lstat(next.c_str(), &of) != 0) {
      if (errno != ENOENT) return FailErrno("look at", next, errno);
      out.missing.assign(rest.rbegin(), rest.rend());
      return out;
    }
    rest.pop_back();
    if (S_ISLNK(of.st_mode)) {
      if (of.st_uid != 0) return Impossible(target, next + " is a link that is not root's; mount elsewhere");
      std::array<char, PATH_MAX> link{};
      const ssize_t n = ::readlink(next.c_str(), link.data(), link.size());
      if (n <= 0 || ++links > kMostLinks) return Impossible(target, next + " is a link that leads nowhere");
      if (link[0] == '/') out.there = "/";
      push({link.data(), static_cast<std::size_t>(n)});
      continue;
    }
    if (!S_ISDIR(of.st_mode) && !rest.empty()) return Impossible(target, next + " is no directory on this host");
    out.there = next;
    out.is_directory = S_ISDIR(of.st_mode);
  }
  return out;
}

Result<OwnMounts::Mirror> MirrorOf(const std::string& target, const std::string& folder) {
  OwnMounts::Mirror out;
  out.path = folder;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), &::closedir);
  if (dir == nullptr) return FailErrno("list", folder, errno);
  struct stat of{};
  if (::fstat(::dirfd(dir.get()), &of) != 0) return FailErrno("look at", folder, errno);
  std::array<char, 16> mode{};
  std::snprintf(mode.data(), mode.size(), "%o", of.st_mode & 07777U);
  out.mode = mode.data();
  out.user = std::to_string(of.st_uid);
  out.group = std::to_string(of.st_gid);
  while (const dirent* const found = ::readdir(dir.get())) {
    const std::string_view name = found->d_name;
    if (name == "." || name == "..") continue;
    if (out.entries.size() == kMostEntries)
      return Impossible(target, "it is not there, and " + folder +
                                    " has too many entries to add it for this container "
                                    "alone; make it on the host, or mount elsewhere");
    if (::fstatat(::dirfd(dir.get()), found->d_name, &of, AT_SYMLINK_NOFOLLOW) != 0) continue;  // gone meanwhile
    OwnMounts::Mirror::Entry& entry = out.entries.emplace_back();
    entry.name = name;
    entry.is_directory = S_ISDIR(of.st_mode);
    if (!S_ISLNK(of.st_mode)) continue;
    std::array<char, PATH_MAX> link{};
    const ssize_t n = ::readlinkat(::dirfd(dir.get()), found->d_name, link.data(), link.size());
    entry.link = n > 0 ? std::string(link.data(), static_cast<std::size_t>(n)) : std::string(".");
  }
  return out;
}

class MountPlanner {
 public:
  Result<OwnMounts> Plan(std::vector<Volume> volumes, bool read_only_root) {
    plan_.read_only_root = read_only_root;
    for (Volume& volume : volumes) volume.target = Cleaned(volume.target);
    std::ranges::stable_sort(volumes, {}, [](const Volume& v) { return std::ranges::count(v.target, '/'); });
    for (Volume& volume : volumes) BERTH_RETURN_IF_ERROR(Add(std::move(volume)));
    std::ranges::sort(plan_.mirrors, {}, [](const OwnMounts::Mirror& m) { return m.path.size(); });
    return std::move(plan_);
  }

 private:
  Result<void> Add(Volume volume) {
    struct stat of{};
    if (::stat(volume.source.c_str(), &of) != 0) return FailErrno("look at volume", volume.source, errno);
    OwnMounts::Placed placed{.volume = std::move(volume), .path = "", .is_directory = S_ISDIR(of.st_mode), .parts = {}};
    const std::string& target = placed.volume.target;
    if (target == "/") return Impossible(target, "the root of a process cannot be a volume; mount below it");
    std::string full = target;
    placed.inside = ParentOf(full);
    if (placed.inside < 0) {
      BERTH_TRY(const PointOnHost place, FindPlace(target));
      full = place.there;
      for (const std::string& part : place.missing) full = Below(full, part);
      placed.inside = ParentOf(full);
      if (placed.inside < 0) BERTH_RETURN_IF_ERROR(CheckPlace(placed, place));
    }
    if (std::ranges::find(full_paths_, full) != full_paths_.end())
      return Impossible(target, "two volumes are mounted there");
    placed.path = full;
    if (placed.inside >= 0)
      PutInside(placed, full.substr(full_paths_[static_cast<std::size_t>(placed.inside)].size() + 1));
    full_paths_.push_back(std::move(full));
    plan_.volumes.push_back(std::move(placed));
    return {};
  }

  /// The deepest volume so far that `path` is below.
  int ParentOf(const std::string& path) const {
    int out = -1;
    for (std::size_t i = 0; i < full_paths_.size(); ++i)
      if (path != full_paths_[i] && IsAtOrBelow(path, full_paths_[i]) &&
          (out < 0 || full_paths_[i].size() > full_paths_[static_cast<std::size_t>(out)].size()))
        out = static_cast<int>(i);
    return out;
  }

  static void PutInside(OwnMounts::Placed& placed, std::string relative) {
    for (std::size_t at = relative.find('/'); at != std::string::npos; at = relative.find('/', at + 1))
      placed.parts.push_back(relative.substr(0, at));
    placed.parts.push_back(relative);
    placed.path = std::move(relative);
  }

  Result<void> CheckPlace(const OwnMounts::Placed& placed, const PointOnHost& place) {
    const std::string& target = placed.volume.target;
    for (const char* const kernels : {"/proc", "/sys"})
      if (IsAtOrBelow(place.there, kernels))
        return Impossible(target, std::string(kernels) + " is the kernel's; mount elsewhere");
    if (!place.missing.empty()) return AddPoint(placed, place);
    if (placed.is_directory && !place.is_directory)
      return Impossible(target, "it is a file on this host, and the volume a directory");
    if (!placed.is_directory && place.is_directory)
      return Impossible(target, "it is a directory on this host, and the volume a file");
    return {};
  }

  Result<void> AddPoint(const OwnMounts::Placed& placed, const PointOnHost& place) {
    auto mirror = std::ranges::find(plan_.mirrors, place.there, &OwnMounts::Mirror::path);
    if (mirror == plan_.mirrors.end()) {
      BERTH_TRY(OwnMounts::Mirror made, MirrorOf(placed.volume.target, place.there));
      mirror = plan_.mirrors.insert(mirror, std::move(made));
    }
    std::string path;
    for (std::size_t i = 0; i < place.missing.size(); ++i) {
      path += (path.empty() ? "" : "/") + place.missing[i];
      const bool is_directory = placed.is_directory || i + 1 < place.missing.size();
      if (std::ranges::find(mirror->points, path, &OwnMounts::Mirror::Entry::name) == mirror->points.end())
        mirror->points.push_back({.name = path, .is_directory = is_directory, .link = ""});
    }
    return {};
  }

  OwnMounts plan_;
  std::vector<std::string> full_paths_;  // of plan_.volumes
};

}  // namespace

Result<OwnMounts> PlanMounts(std::vector<Volume> volumes, bool read_only_root) {
  return MountPlanner().Plan(std::move(volumes), read_only_root);
}

Error ErrorOf(const OwnMounts& plan, const MountFailure& failure) {
  const auto at = static_cast<std::size_t>(failure.index);
  const auto target = [&] { return plan.volumes[at].volume.target; };
  switch (failure.step) {
    case MountStep::kNamespace: return FailErrno("give it a mount namespace for its volumes", "", failure.sys).error();
    case MountStep::kSource: return FailErrno("mount", plan.volumes[at].volume.source, failure.sys).error();
    case MountStep::kPropagation: return FailErrno("keep its mounts to itself", "", failure.sys).error();
    case MountStep::kReadOnlyRoot: return FailErrno("make its root read-only", "", failure.sys).error();
    case MountStep::kMirror:
      return FailErrno("add mount points for it alone to", plan.mirrors[at].path, failure.sys).error();
    case MountStep::kPoint: return FailErrno("open the mount point", target(), failure.sys).error();
    case MountStep::kAttach: break;
  }
  return FailErrno("mount at", target(), failure.sys).error();
}

MountFailure MakeMounts(const OwnMounts& plan, std::span<int> fds) {
  if (::unshare(CLONE_NEWNS) != 0) return {.step = MountStep::kNamespace, .sys = errno};
  // Before they are cut off from the host's: some are to stay joined.
  for (std::size_t i = 0; i < plan.volumes.size(); ++i) {
    fds[i] = CloneTree(AT_FDCWD, plan.volumes[i].volume.source.c_str(), 0);
    if (fds[i] < 0) return {.step = MountStep::kSource, .index = static_cast<std::int32_t>(i), .sys = errno};
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0 && errno != EINVAL)
    return {.step = MountStep::kPropagation, .sys = errno};
  if (plan.read_only_root)
    if (const int sys = MakeAllReadOnly(); sys != 0) return {.step = MountStep::kReadOnlyRoot, .sys = sys};
  for (std::size_t i = 0; i < plan.mirrors.size(); ++i)
    if (const int sys = MakeMirror(plan.mirrors[i], plan.read_only_root); sys != 0)
      return {.step = MountStep::kMirror, .index = static_cast<std::int32_t>(i), .sys = sys};
  for (std::size_t i = 0; i < plan.volumes.size(); ++i)
    if (const MountFailure failure = Attach(plan, i, fds); failure.sys != 0) return failure;
  return {.step = MountStep::kNamespace, .sys = ::chdir("/") == 0 ? 0 : errno};
}

}  // namespace berth::os
