#include "node/checkpoint/disk_calls_test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>

namespace berth::checkpoint {
namespace {

DiskWatch* g_watch = nullptr;  // one at a time; tests of this program run one after another

std::string PathOf(int fd) {
  char target[4096];
  const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
  return n > 0 ? std::string(target, static_cast<std::size_t>(n)) : std::string();
}

std::string PathAt(int dir, const char* name) {
  if (*name == '/' || dir == AT_FDCWD) return name;
  return PathOf(dir) + "/" + name;
}

/// Makes a call the way the watch wants it: `call` makes it, `made` is what is written down when it succeeds.
template <class Call>
int Through(DiskCall made, Call call) {
  if (g_watch == nullptr || !g_watch->Watches(made.path)) return call();
  switch (g_watch->Next()) {
    case DiskFault::kFail: errno = g_watch->sys(); return -1;
    case DiskFault::kStop:
    case DiskFault::kStopHalf: ::_exit(kStopped);
    case DiskFault::kShortWrite:
    case DiskFault::kNone: break;
  }
  const int result = call();
  if (result >= 0) g_watch->Add(std::move(made));
  return result;
}

}  // namespace

DiskWatch::DiskWatch(std::string folder) : folder_(std::move(folder)) { g_watch = this; }
DiskWatch::~DiskWatch() { g_watch = nullptr; }

void DiskWatch::SetFault(int number, DiskFault fault, int sys) {
  number_ = number;
  asked_ = 0;
  fault_ = fault;
  sys_ = sys;
  fired_ = false;
}

DiskFault DiskWatch::Next() {
  if (asked_++ != number_) return DiskFault::kNone;
  fired_ = true;
  return fault_;
}

int DiskWatch::Count(DiskCall::Kind kind) const {
  return static_cast<int>(std::ranges::count(calls_, kind, &DiskCall::kind));
}

}  // namespace berth::checkpoint

using berth::checkpoint::DiskCall;
using berth::checkpoint::DiskFault;

// Names, types and linkage are the linker's and the C library's.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming,cert-dcl50-cpp)
extern "C" {
int __real_openat(int dir, const char* name, int flags, ...);
ssize_t __real_write(int fd, const void* bytes, std::size_t size);
int __real_fsync(int fd);
int __real_fdatasync(int fd);
int __real_renameat(int from_dir, const char* from, int to_dir, const char* to);
int __real_linkat(int from_dir, const char* from, int to_dir, const char* to, int flags);
int __real_unlinkat(int dir, const char* name, int flags);
int __real_mkdir(const char* path, mode_t mode);

int __wrap_openat(int dir, const char* name, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : mode_t{0};
  va_end(arguments);
  const auto open = [&] { return __real_openat(dir, name, flags, mode); };
  if ((flags & O_CREAT) == 0) return open();
  return berth::checkpoint::Through({.kind = DiskCall::Kind::kCreate, .path = berth::checkpoint::PathAt(dir, name)},
                                    open);
}

ssize_t __wrap_write(int fd, const void* bytes, std::size_t size) {
  using berth::checkpoint::g_watch;
  const std::string path = g_watch == nullptr ? "" : berth::checkpoint::PathOf(fd);
  if (g_watch == nullptr || !g_watch->Watches(path)) return __real_write(fd, bytes, size);
  const DiskFault fault = g_watch->Next();
  if (fault == DiskFault::kFail) {
    errno = g_watch->sys();
    return -1;
  }
  if (fault == DiskFault::kStop) ::_exit(berth::checkpoint::kStopped);
  const ssize_t n = __real_write(fd, bytes, fault == DiskFault::kNone ? size : size / 2);
  if (fault == DiskFault::kStopHalf) ::_exit(berth::checkpoint::kStopped);
  if (n > 0)
    g_watch->Add({.kind = DiskCall::Kind::kWrite,
                  .path = path,
                  .bytes = std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(n))});
  return n;
}

int __wrap_fsync(int fd) {
  struct stat info{};
  const bool folder = ::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  return berth::checkpoint::Through(
      {.kind = folder ? DiskCall::Kind::kSyncFolder : DiskCall::Kind::kSyncFile, .path = berth::checkpoint::PathOf(fd)},
      [&] { return __real_fsync(fd); });
}

int __wrap_fdatasync(int fd) {
  return berth::checkpoint::Through({.kind = DiskCall::Kind::kSyncFile, .path = berth::checkpoint::PathOf(fd)},
                                    [&] { return __real_fdatasync(fd); });
}

int __wrap_renameat(int from_dir, const char* from, int to_dir, const char* to) {
  return berth::checkpoint::Through({.kind = DiskCall::Kind::kRename,
                                     .path = berth::checkpoint::PathAt(from_dir, from),
                                     .to = berth::checkpoint::PathAt(to_dir, to)},
                                    [&] { return __real_renameat(from_dir, from, to_dir, to); });
}

int __wrap_linkat(int from_dir, const char* from, int to_dir, const char* to, int flags) {
  return berth::checkpoint::Through({.kind = DiskCall::Kind::kLink,
                                     .path = berth::checkpoint::PathAt(from_dir, from),
                                     .to = berth::checkpoint::PathAt(to_dir, to)},
                                    [&] { return __real_linkat(from_dir, from, to_dir, to, flags); });
}

int __wrap_unlinkat(int dir, const char* name, int flags) {
  return berth::checkpoint::Through({.kind = DiskCall::Kind::kUnlink, .path = berth::checkpoint::PathAt(dir, name)},
                                    [&] { return __real_unlinkat(dir, name, flags); });
}

int __wrap_mkdir(const char* path, mode_t mode) {
  return berth::checkpoint::Through({.kind = DiskCall::Kind::kMakeFolder, .path = path},
                                    [&] { return __real_mkdir(path, mode); });
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming,cert-dcl50-cpp)
