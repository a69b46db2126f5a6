// Loaded into berthd before its libraries (LD_PRELOAD): a clock that somebody sets, and a disk that fails. What it says
// is in the file $BERTH_LIES (lies.h), which a test writes while berthd runs.
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "lies.h"

namespace {

using berth::testkit::Lies;

const Lies* Told() {
  static const Lies* const lies = [] {
    const char* const path = ::getenv("BERTH_LIES");
    const int fd = path == nullptr ? -1 : static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
    void* const at = fd < 0 ? MAP_FAILED : ::mmap(nullptr, sizeof(Lies), PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) ::syscall(SYS_close, fd);
    return at == MAP_FAILED ? nullptr : static_cast<const Lies*>(at);
  }();
  return lies;
}

/// The error that a change of what `fd` stands for meets; 0: none. `name`: below it, if it is a directory.
int ErrorOf(int fd, const char* name = "") {
  const Lies* const lies = Told();
  const int error = lies == nullptr ? 0 : lies->disk_error.load();
  if (error == 0) return 0;
  char path[PATH_MAX + NAME_MAX] = "";
  if (name[0] != '/') {
    char link[32];
    ::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = ::readlink(fd == AT_FDCWD ? "/proc/self/cwd" : link, path, PATH_MAX - 1);
    if (size < 0) return 0;
    path[size] = '\0';
    ::strncat(path, "/", 2);
  }
  ::strncat(path, name, NAME_MAX);
  return ::strncmp(path, lies->disk, ::strlen(lies->disk)) == 0 ? error : 0;
}

template <class Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool Fails(int fd, const char* name = "") {
  const int error = ErrorOf(fd, name);
  if (error != 0) errno = error;
  return error != 0;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int done = static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  const Lies* const lies = Told();
  if (done == 0 && clock == CLOCK_REALTIME && lies != nullptr) time->tv_sec += lies->clock_offset_s.load();
  return done;
}

ssize_t write(int fd, const void* bytes, size_t size) {
  static auto* const real = Real<ssize_t(int, const void*, size_t)>("write");
  return Fails(fd) ? -1 : real(fd, bytes, size);
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  static auto* const real = Real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return Fails(fd) ? -1 : real(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off_t offset) { return pwrite(fd, bytes, size, offset); }

int fsync(int fd) {
  static auto* const real = Real<int(int)>("fsync");
  return Fails(fd) ? -1 : real(fd);
}

int fdatasync(int fd) {
  static auto* const real = Real<int(int)>("fdatasync");
  return Fails(fd) ? -1 : real(fd);
}

int renameat(int from, const char* old_name, int to, const char* new_name) noexcept {
  static auto* const real = Real<int(int, const char*, int, const char*)>("renameat");
  return Fails(to, new_name) ? -1 : real(from, old_name, to, new_name);
}

int openat(int folder, const char* name, int flags, ...) {
  static auto* const real = Real<int(int, const char*, int, mode_t)>("openat");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(more, int)) : 0;
  va_end(more);
  const bool changes = (flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_ACCMODE) != O_RDONLY;
  return changes && Fails(folder, name) ? -1 : real(folder, name, flags, mode);
}
}
