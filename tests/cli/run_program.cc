#include "run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "testing/fixtures.h"

namespace berth {
namespace {

struct Files {
  std::string in, out, err;
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

int Start(const std::string& program, const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment, const Files& files) {
  std::vector<std::string> argv = {program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::vector<std::string> envp = environment;
  if (const char* path = std::getenv("PATH")) envp.push_back(std::string("PATH=") + path);
  constexpr int kCreate = O_WRONLY | O_CREAT | O_APPEND;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, files.in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, files.out.c_str(), kCreate, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, files.err.c_str(), kCreate, 0600);
  int pid = -1;
  const int failed =
      ::posix_spawnp(&pid, program.c_str(), &actions, nullptr, Pointers(argv).data(), Pointers(envp).data());
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? pid : -1;
}

}  // namespace

Ran RunProgram(const std::string& program, const std::vector<std::string>& arguments, const RunOptions& options) {
  const testkit::TempDir folder;
  const Files files{folder / "in", folder / "out", folder / "err"};
  for (const std::string& file : {files.in, files.out, files.err}) std::ofstream(file).close();
  std::ofstream(files.in) << options.input;
  Ran ran;
  const int pid = Start(program, arguments, options.environment, files);
  int status = 0;
  if (pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status)) ran.status = WEXITSTATUS(status);
  ran.out = testkit::ReadText(files.out);
  ran.err = testkit::ReadText(files.err);
  return ran;
}

Ran Berth(const std::vector<std::string>& arguments, const RunOptions& options) {
  return RunProgram(BERTH, arguments, options);
}

int Spawn(const std::string& program, const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment, const std::string& log) {
  return Start(program, arguments, environment, {"/dev/null", log, log});
}

}  // namespace berth
