#include "host/os/disk_usage.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "host/os/unique_fd.h"

namespace berth::os {
namespace {

constexpr std::int64_t kBlock = 512;  // of st_blocks, whatever the file system has
constexpr std::size_t kMostCounted = 1'000'000;
constexpr int kMostLevels = 100;

class Counter {
 public:
  Counter(dev_t device, Bytes enough) : device_(device), enough_(enough) {}

  bool Add(const struct stat& is) {
    if (is.st_nlink > 1 && !S_ISDIR(is.st_mode) && !seen_.insert(is.st_ino).second) return true;
    bytes_ += is.st_blocks * kBlock;
    return bytes_ <= enough_.v && ++count_ < kMostCounted;
  }

  /// False: it is enough.
  bool Walk(UniqueFd dir, int depth) {
    DIR* const list = ::fdopendir(dir.get());
    if (list == nullptr) return true;
    static_cast<void>(dir.release());
    bool more = true;
    while (more) {
      const dirent* const entry = ::readdir(list);
      if (entry == nullptr) break;
      if (const std::string_view name = entry->d_name; name == "." || name == "..") continue;
      struct stat is{};
      if (::fstatat(::dirfd(list), entry->d_name, &is, AT_SYMLINK_NOFOLLOW) != 0 || is.st_dev != device_) continue;
      more = Add(is);
      if (!more || !S_ISDIR(is.st_mode) || depth == kMostLevels) continue;
      UniqueFd below(::openat(::dirfd(list), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (below.valid()) more = Walk(std::move(below), depth + 1);
    }
    ::closedir(list);
    return more;
  }

  Bytes bytes() const { return {bytes_}; }

 private:
  dev_t device_;
  Bytes enough_;
  std::int64_t bytes_ = 0;
  std::size_t count_ = 0;
  std::set<ino_t> seen_;
};

}  // namespace

Result<Bytes> DiskUsage(const std::string& path, Bytes enough) {
  UniqueFd top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat is{};
  if (!top.valid() || ::fstat(top.get(), &is) != 0) return FailErrno("open", path, errno);
  Counter counter(is.st_dev, enough);
  if (counter.Add(is)) counter.Walk(std::move(top), 1);
  return counter.bytes();
}

}  // namespace berth::os
