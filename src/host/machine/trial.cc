#include "host/machine/trial.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "host/os/unique_fd.h"

namespace berth::machine {
namespace {

constexpr unsigned kSeconds = 10;

/// The child: no way back into the parent's code.
[[noreturn]] void RunChild(const std::function<bool()>& work, int answer) {
  for (const int sig : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM, SIGXCPU, SIGTERM}) ::signal(sig, SIG_DFL);
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const rlimit time{.rlim_cur = kSeconds, .rlim_max = kSeconds};
  ::setrlimit(RLIMIT_CPU, &time);
  ::alarm(2 * kSeconds);
  if (const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) ::dup2(null, STDERR_FILENO);
  const char done = work() ? 1 : 0;
  ::_exit(::write(answer, &done, 1) == 1 ? 0 : 1);
}

}  // namespace

Result<bool> ComesBack(const std::function<bool()>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FailErrno("make a pipe for a trial run", "", errno);
  const os::UniqueFd answer(ends[0]);
  os::UniqueFd child_end(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return FailErrno("start a child for a trial run", "", errno);
  if (child == 0) RunChild(work, child_end.get());
  child_end.reset();
  char done = 0;
  ssize_t got = 0;
  do {
    got = ::read(answer.get(), &done, 1);
  } while (got < 0 && errno == EINTR);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return got == 1 && done == 1;
}

}  // namespace berth::machine
