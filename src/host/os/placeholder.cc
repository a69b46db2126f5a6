#include "host/os/placeholder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

namespace berth::os {
namespace {

/// The child's whole life. After fork in a process with threads: only calls that are safe in signal handlers.
[[noreturn]] void KeepPlace(int life_line) {
  sigset_t none;
  ::sigemptyset(&none);
  ::prctl(PR_SET_NAME, "berth-hold", 0, 0, 0);
  ::dup2(life_line, STDIN_FILENO);
  ::syscall(SYS_close_range, 1U, UINT_MAX, 0U);  // before Linux 5.9: our files stay open as long as it lives
  if (::chdir("/") != 0) ::_exit(1);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
  }
  ::_exit(0);
}

}  // namespace

Result<Placeholder> Placeholder::Start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FailErrno("make a pipe", "", errno);
  const UniqueFd theirs(ends[0]);
  UniqueFd ours(ends[1]);
  const int pid = ::fork();
  if (pid < 0) return FailErrno("start a process that keeps a place", "", errno);
  if (pid == 0) {
    ::close(ends[1]);
    KeepPlace(ends[0]);
  }
  return Placeholder(pid, std::move(ours));
}

Placeholder::Placeholder(Placeholder&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), life_line_(std::move(other.life_line_)) {}

Placeholder& Placeholder::operator=(Placeholder&& other) noexcept {
  if (this != &other) {
    End();
    pid_ = std::exchange(other.pid_, 0);
    life_line_ = std::move(other.life_line_);
  }
  return *this;
}

Placeholder::~Placeholder() { End(); }

void Placeholder::End() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);  // not reaped yet: the pid is its own
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  life_line_.reset();
}

}  // namespace berth::os
