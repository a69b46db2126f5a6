#include "daemon/container_calls.h"

#include <fmt/core.h>

#include <algorithm>

#include "host/os/clock.h"

namespace berth::daemon {
namespace {

/// One of the commands that may run at a time.
class Turn {
 public:
  explicit Turn(std::atomic<int>& count) : count_(count), taken_(++count) {}
  ~Turn() { --count_; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  int taken() const { return taken_; }

 private:
  std::atomic<int>& count_;
  int taken_;
};

}  // namespace

int StartExitCode(std::string_view text) {
  if (!text.contains("exec failed") && !text.contains("failed to start exec")) return 0;
  const bool missing = text.contains("executable file not found") || text.contains("no such file or directory");
  return missing ? kNotFoundExit : kNotExecutableExit;
}

Result<std::unique_ptr<ContainerCalls>> ContainerCalls::Open(const std::string& socket) {
  BERTH_TRY(os::EventFd cancel, os::EventFd::Open());
  return std::unique_ptr<ContainerCalls>(new ContainerCalls(socket, std::move(cancel)));
}

Result<CommandEnd> ContainerCalls::Exec(const std::string& id, const std::vector<std::string>& command,
                                        std::chrono::seconds limit, int caller_fd) {
  const Turn turn(commands_);
  if (turn.taken() > kMostCommands)
    return Fail(
        Code::kOverloaded,
        fmt::format("{} commands run in containers already; try again when one of them has ended", kMostCommands));
  const os::MonoTime start = os::SystemClock().Now();
  auto ran = client_.Exec(id, command, limit, caller_fd);
  if (ran) {
    CommandEnd end{.out = std::move(ran->out), .err = std::move(ran->err), .exit_code = ran->exit_code, .message = {}};
    if (std::max(end.out.size(), end.err.size()) >= cri::kLongestMessage)
      end.message = "the output was cut after 16 MiB";
    return end;
  }
  const Error& error = ran.error();
  if (error.code == Code::kTimeout && os::SystemClock().Now() - start >= limit)
    return CommandEnd{.out = {},
                      .err = {},
                      .exit_code = kEndedLateExit,
                      .message = fmt::format(
                          "the command did not end within {} s and was killed; what it wrote is lost", limit.count())};
  if (error.code == Code::kExhausted)
    return Fail(
        Code::kExhausted,
        "the command ran and wrote more than the 16 MiB a container runtime passes on; have it write to a file");
  if (const int code = StartExitCode(error.message); code != 0)
    return CommandEnd{.out = {}, .err = {}, .exit_code = code, .message = error.message};
  return std::unexpected(error);
}

}  // namespace berth::daemon
