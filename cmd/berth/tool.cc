#include "berth/tool.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/text.h"
#include "host/os/unique_fd.h"

namespace berth::cli {
namespace {

constexpr std::size_t kMostOutput = 1 << 20;

std::string ReadToEnd(int fd) {
  std::string out;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return out;
    if (out.size() < kMostOutput) out.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

int WaitFor(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ToolEnd> RunTool(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return FailErrno("make a pipe for", words.front(), errno);
  const os::UniqueFd reading(ends[0]);
  os::UniqueFd writing(ends[1]);
  std::vector<std::string> copy = words;
  std::vector<char*> argv;
  for (std::string& word : copy) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  pid_t pid = -1;
  const int failed = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed == ENOENT) return Fail(Code::kNotFound, "there is no program '" + Printable(words.front()) + "' in PATH");
  if (failed != 0) return FailErrno("run", words.front(), failed);
  writing = os::UniqueFd();
  std::string output = ReadToEnd(reading.get());
  return ToolEnd{.status = WaitFor(pid), .output = std::move(output)};
}

}  // namespace berth::cli
