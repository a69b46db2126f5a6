#include "runtime/process/exec.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "host/os/children.h"
#include "host/os/pidfd.h"
#include "host/os/pipe.h"
#include "host/os/poll.h"
#include "host/os/process.h"
#include "runtime/process/process_spec.h"

namespace berth::runtime {
namespace {

constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

/// Takes what there is in the pipe; what is beyond the bound is thrown away, so that nobody waits for us.
void TakeOutput(os::UniqueFd& from, std::string& output) {
  std::array<char, 4096> chunk;
  for (int reads = 0; from.valid() && reads < 16; ++reads) {
    const ssize_t n = ::read(from.get(), chunk.data(), chunk.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return from.reset();
    const std::size_t room = kMostExecOutput - std::min(output.size(), kMostExecOutput);
    output.append(chunk.data(), std::min(room, static_cast<std::size_t>(n)));
  }
}

/// nullopt: the process has ended.
std::optional<Error> WaitForEnd(const os::Process& process, os::UniqueFd& pipe, std::string& output,
                                os::MonoTime deadline, int cancel_fd) {
  for (;;) {
    std::array<pollfd, 3> of = {pollfd{process.pidfd.get(), POLLIN, 0}, pollfd{cancel_fd, POLLIN, 0},
                                pollfd{pipe.valid() ? pipe.get() : -1, POLLIN, 0}};
    const os::MonoTime now = os::SystemClock().Now();
    const int ready = now < deadline ? ::poll(of.data(), of.size(), os::PollTime(now, deadline)) : 0;
    if (ready < 0) continue;
    TakeOutput(pipe, output);
    if (of[0].revents != 0) {
      TakeOutput(pipe, output);  // what it wrote last
      return std::nullopt;
    }
    if (of[1].revents != 0) return Error{.code = Code::kCancelled, .message = "the command was given up"};
    if (ready == 0 && os::SystemClock().Now() >= deadline)
      return Error{.code = Code::kTimeout, .message = "the command did not end in time and was killed"};
  }
}

/// Its exit code, as a shell has it. It is our child, and has ended or was killed.
int ReapExitCode(int pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ExecEnd> ExecInside(const ShimRequest& request, int pid, const os::UniqueFd& main,
                           const std::vector<std::string>& command, os::Millis limit, int cancel_fd) {
  const os::MonoTime deadline = os::SystemClock().Now() + limit;
  BERTH_TRY(InsideSpec inside, SpecInside(request, pid, main, command));
  BERTH_TRY(os::Pipe pipe, os::MakePipe());
  inside.spec.stdout_fd = inside.spec.stderr_fd = pipe.write_end.get();
  BERTH_TRY(const os::Process process, os::Spawn(inside.spec));
  pipe.write_end.reset();
  if (process.refused)
    return ExecEnd{.exit_code = process.refused->code == Code::kNotFound ? kNotFound : kCannotExecute,
                   .output = process.refused->message};
  ExecEnd end;
  const std::optional<Error> failed = WaitForEnd(process, pipe.read_end, end.output, deadline, cancel_fd);
  if (failed) ::kill(-process.pid, SIGKILL);  // it is not reaped: its session is still its own
  end.exit_code = ReapExitCode(process.pid);
  if (failed) return std::unexpected(*failed);
  return end;
}

}  // namespace berth::runtime
