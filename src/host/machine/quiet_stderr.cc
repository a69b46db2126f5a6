#include "host/machine/quiet_stderr.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace berth::machine {
namespace {

std::mutex& Turn() {
  static std::mutex turn;
  return turn;
}

}  // namespace

QuietStderr::QuietStderr() : turn_(Turn()), saved_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
  const os::UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (saved_.valid() && null.valid()) {
    std::fflush(stderr);
    ::dup2(null.get(), STDERR_FILENO);
  } else {
    saved_.reset();
  }
}

QuietStderr::~QuietStderr() {
  if (!saved_.valid()) return;
  std::fflush(stderr);
  ::dup2(saved_.get(), STDERR_FILENO);
}

}  // namespace berth::machine
