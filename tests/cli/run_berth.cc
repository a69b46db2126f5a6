#include "cli/run_berth.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <fstream>

#include "base/text.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

/// Starts the program with its three streams on files. 0: could not.
pid_t Spawn(const char* program, const std::vector<std::string>& arguments, const std::string& in,
            const std::string& out, const std::string& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string path = "PATH=/usr/bin:/bin";
  std::array<char*, 2> environment{path.data(), nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, program, &actions, nullptr, argv.data(), environment.data()) != 0) pid = 0;
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

Ran Run(const char* program, const std::vector<std::string>& arguments, const std::string& input) {
  const testkit::TempDir temp;
  WriteText(temp / "in", input);
  Ran ran;
  const pid_t pid = Spawn(program, arguments, temp / "in", temp / "out", temp / "err");
  EXPECT_NE(pid, 0) << "cannot start " << program;
  if (pid == 0) return ran;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status)) ran.status = WEXITSTATUS(status);
  ran.out = testkit::ReadText(temp / "out");
  ran.err = testkit::ReadText(temp / "err");
  EXPECT_NE(ran.status, -1) << "ended by a signal; on stderr: " << ran.err;
  return ran;
}

}  // namespace

Ran RunBerth(const std::vector<std::string>& arguments, const std::string& input) {
  return Run(BERTH_PROGRAM, arguments, input);
}

Ran RunConformance(const std::vector<std::string>& arguments, const std::string& input) {
  return Run(BERTH_CONFORMANCE, arguments, input);
}

std::string Shown(const Ran& ran) {
  std::string text = ran.out + ran.err + "(exit status " + std::to_string(ran.status) + ")\n";
  const std::string checkout = testkit::SourcePath("");
  for (std::size_t at = 0; (at = text.find(checkout, at)) != std::string::npos;) text.erase(at, checkout.size());
  return text;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : Split(text, '\n')) out.emplace_back(line);
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

std::string SimulateInput(const std::string& name) { return testkit::SourcePath("tests/golden/simulate/" + name); }

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  EXPECT_TRUE(file.flush()) << path;
}

void WriteGzip(const std::string& path, const std::string& text) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr) << path;
  EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
}

std::vector<std::string> GzipLines(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (file == nullptr) return {};
  std::string text;
  std::array<char, 1 << 16> buffer;
  int n = 0;
  while ((n = gzread(file, buffer.data(), buffer.size())) > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  EXPECT_EQ(n, 0) << path;
  gzclose(file);
  return Lines(text);
}

}  // namespace berth
