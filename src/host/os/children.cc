#include "host/os/children.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace berth::os {
namespace {

/// All of them but `but`, zombies among them, of the calling thread.
std::vector<int> ChildrenBut(int but) {
  std::vector<int> out;
  const std::string file = "/proc/self/task/" + std::to_string(::gettid()) + "/children";
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> chunk;
  for (ssize_t n = 0; (n = ::read(fd.get(), chunk.data(), chunk.size())) > 0;)
    text.append(chunk.data(), static_cast<std::size_t>(n));
  for (const std::string_view word : SplitWords(text))
    if (const auto pid = ParseDecimal<int>(word); pid && *pid != but) out.push_back(*pid);
  return out;
}

}  // namespace

std::optional<ChildEnd> PeekEndedChild() {
  siginfo_t info{};
  if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return std::nullopt;
  ChildEnd end{.pid = info.si_pid, .exit_code = info.si_status, .signal = std::nullopt};
  if (info.si_code != CLD_EXITED) {
    end.signal = info.si_status;
    end.exit_code = 128 + info.si_status;
  }
  return end;
}

void ReapChild(int pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool KillChildrenBut(int but, Millis limit) {
  const MonoTime end = SystemClock().Now() + limit;
  for (std::vector<int> children = ChildrenBut(but); !children.empty(); children = ChildrenBut(but)) {
    for (const int pid : children) {
      ::kill(pid, SIGKILL);  // nobody but us reaps it: the pid is its own
      ::waitpid(pid, nullptr, WNOHANG);
    }
    if (SystemClock().Now() >= end) return false;
    SleepFor(Millis(1));
  }
  return true;
}

Result<UniqueFd> BecomeSupervisor() {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) ::signal(signal, SIG_IGN);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) return FailErrno("become a subreaper", "", errno);
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::pthread_sigmask(SIG_BLOCK, &child, nullptr);
  UniqueFd fd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return FailErrno("make a signal descriptor", "", errno);
  return fd;
}

}  // namespace berth::os
