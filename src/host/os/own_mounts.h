// A program's own view of the host's files: volumes mounted where it expects them, everything else read-only if it is
// to be. Nothing of it is seen, or left, outside of its mount namespace.
#ifndef BERTH_HOST_OS_OWN_MOUNTS_H_
#define BERTH_HOST_OS_OWN_MOUNTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::os {

/// A directory or file of the host, with what is mounted below it, at another path.
struct Volume {
  enum class Propagation {
    kPrivate,
    kFromHost,  ///< mounts the host makes below it later arrive
    kBoth,      ///< and the other way round
  };
  std::string source;  ///< absolute; it exists
  std::string target;  ///< absolute, without ".."
  bool read_only = false;
  bool recursive_read_only = false;  ///< what is mounted below it too
  Propagation propagation = Propagation::kPrivate;
  friend bool operator==(const Volume&, const Volume&) = default;
};

/// Everything MakeMounts needs, made beforehand.
struct OwnMounts {
  /// A volume with its place worked out.
  struct Placed {
    Volume volume;
    std::string path;  ///< where it is mounted, without links on the way
    int inside = -1;   ///< another of these it is mounted in; then `path` is relative to that one
    bool is_directory = true;
    std::vector<std::string> parts;  ///< of a relative `path`: each directory on the way, and itself
  };
  /// A directory of the host in which mount points are missing: a small file system in memory in its place that has all
  /// of its entries, and them.
  struct Mirror {
    struct Entry {
      std::string name;
      bool is_directory = false;
      std::string link;  ///< where it leads to; "": it is no link
    };
    std::string path;
    std::string mode, user, group;  ///< as tmpfs wants them
    std::vector<Entry> entries;
    std::vector<Entry> points;  ///< relative paths, parents first
  };
  std::vector<Placed> volumes;  ///< parents first
  std::vector<Mirror> mirrors;  ///< likewise
  bool read_only_root = false;

  bool empty() const { return volumes.empty() && !read_only_root; }
};

/// Works out where `volumes` are mounted on this host. A mount point below another volume is made in that one; a
/// missing one anywhere else is made in a mirror of the directory it is missing in, never on the host. Errors: kInvalid
/// with the cure for a mount point that cannot be: "/", below /proc or /sys, two at one place, a file where a directory
/// is mounted or the other way round, missing in a directory of too many entries, behind a link that is not root's.
Result<OwnMounts> PlanMounts(std::vector<Volume> volumes, bool read_only_root);

enum class MountStep : std::int32_t { kNamespace, kSource, kPropagation, kReadOnlyRoot, kMirror, kPoint, kAttach };

/// What went wrong; `sys` 0: nothing.
struct MountFailure {
  MountStep step = MountStep::kNamespace;
  std::int32_t index = 0;  ///< of the volume or mirror
  int sys = 0;
};
/// "mount /data: Read-only file system"
Error ErrorOf(const OwnMounts& plan, const MountFailure& failure);

/// For the child between clone and exec, with one thread and the right to mount: makes a mount namespace, system calls
/// only. `fds` has room for one number for each volume. Everything read-only (read_only_root) leaves out the volumes,
/// /dev, /proc and what is mounted below those two; no mount of the host arrives then but in volumes that ask for it.
MountFailure MakeMounts(const OwnMounts& plan, std::span<int> fds);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_OWN_MOUNTS_H_
