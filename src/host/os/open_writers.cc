#include "host/os/open_writers.h"

#include <fcntl.h>

#include <cerrno>
#include <csignal>

#include "host/os/unique_fd.h"

namespace berth::os {

bool IsOpenForWriting(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return false;
  // Who opens it for writing while the lease is held sends its holder a signal: SIGIO, which ends a process, unless
  // another one is named. SIGURG is ignored where nobody handles it.
  if (::fcntl(fd.get(), F_SETSIG, SIGURG) != 0) return false;
  if (::fcntl(fd.get(), F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN;
  ::fcntl(fd.get(), F_SETLEASE, F_UNLCK);
  return false;
}

}  // namespace berth::os
