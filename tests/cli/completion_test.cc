#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "berthd_fixture.h"
#include "run_program.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string Complete(std::vector<std::string> words) {
  words.insert(words.begin(), "__complete");
  return Berth(words).out;
}

TEST(CompletionTest, KnowsCommandsOptionsAndValues) {
  EXPECT_EQ("pods\tList the pods of this node and what they hold\n", Complete({"po"}));
  EXPECT_THAT(Complete({""}), AllOf(HasSubstr("apply\t"), HasSubstr("simulate\t"), Not(HasSubstr("__complete"))));
  EXPECT_EQ("import\n", Complete({"images", "im"}));
  EXPECT_EQ(":files\n", Complete({"images", "import", ""}));
  EXPECT_THAT(Complete({"exec", "--ti"}), HasSubstr("--timeout\t"));
  EXPECT_THAT(Complete({"logs", "--t"}), AllOf(HasSubstr("--tail\t"), HasSubstr("--timestamps\t")));
  EXPECT_EQ("json\njsonpath=\n", Complete({"pods", "-o", "j"}));
  EXPECT_EQ("--output=yaml\n", Complete({"pods", "--output=y"}));  // zsh and fish: one word
  EXPECT_EQ("yaml\n", Complete({"pods", "--output", "=", "y"}));   // bash: three
  EXPECT_EQ("bash\nzsh\nfish\n", Complete({"completion", ""}));
  EXPECT_EQ(":files\n", Complete({"apply", "-f", ""}));
  EXPECT_EQ(":files\n", Complete({"simulate", "a.yaml", ""}));
  EXPECT_THAT(Complete({"help", "ma"}), AllOf(HasSubstr("map\t"), HasSubstr("machine\t")));
  EXPECT_EQ("", Complete({"node", ""}));
}

TEST(CompletionTest, IsSilentWithoutADaemon) {
  const Ran ran = Berth({"__complete", "describe", "--socket", "/nonexistent/x", ""});
  EXPECT_EQ(0, ran.status);
  EXPECT_EQ("", ran.out + ran.err);
}

class CompletionScriptTest : public testing::TestWithParam<const char*> {};

TEST_P(CompletionScriptTest, IsAcceptedByItsShell) {
  const std::string shell = GetParam();
  const Ran script = Berth({"completion", shell});
  EXPECT_EQ(0, script.status);
  EXPECT_THAT(script.out, HasSubstr("__complete"));
  if (RunProgram("/bin/sh", {"-c", "command -v " + shell}).status != 0) GTEST_SKIP() << shell << " is not installed";
  const Ran checked = RunProgram(shell, {"-n"}, {.environment = {}, .input = script.out});
  EXPECT_EQ(0, checked.status) << checked.err;
}

INSTANTIATE_TEST_SUITE_P(Shells, CompletionScriptTest, testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return std::string(shell.param); });

TEST(CompletionTest, WorksInsideBash) {
  const std::string script = "source <(" BERTH
                             " completion bash)\n"
                             "COMP_WORDS=(" BERTH
                             " pods -o wi); COMP_CWORD=3; _berth\n"
                             "printf '%s,' \"${COMPREPLY[@]}\"\n";
  const Ran ran = RunProgram("bash", {"-c", script});
  EXPECT_EQ("wide,", ran.out) << ran.err;
}

/// What a shell shows for "berth pods -o wi", pressing Tab in it.
class ShellCompletionTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_symlink(BERTH, folder_ / "berth"); }
  static bool Has(const std::string& shell) { return RunProgram("/bin/sh", {"-c", "command -v " + shell}).status == 0; }
  Ran In(const std::string& shell, std::vector<std::string> arguments) const {
    return RunProgram(shell, std::move(arguments),
                      {.environment = {"HOME=" + folder_.path(), "TERM=dumb"}, .input = {}});
  }

  const testkit::TempDir folder_;
};

TEST_F(ShellCompletionTest, WorksInsideFish) {
  if (!Has("fish")) GTEST_SKIP() << "fish is not installed";
  const Ran ran = In("fish", {"--no-config", "-c",
                              "set PATH " + folder_.path() +
                                  " $PATH; berth completion fish | source; "
                                  "complete -C 'berth pods -o wi'; complete -C 'berth sta'"});
  EXPECT_THAT(ran.out, HasSubstr("wide\n")) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("status\tShow how berthd is doing")) << ran.err;
}

/// The script's own function, with what zsh's completion gives it, and told instead of shown.
TEST_F(ShellCompletionTest, WorksInsideZsh) {
  if (!Has("zsh")) GTEST_SKIP() << "zsh is not installed";
  const Ran ran = In("zsh", {"-f", "-c",
                             "PATH=" + folder_.path() +
                                 ":$PATH; compdef() { : }; _describe() { print -l -- ${(P)2} }; "
                                 "source <(berth completion zsh); words=(berth pods -o wi); CURRENT=4; _berth; "
                                 "words=(berth sta); CURRENT=2; _berth"});
  EXPECT_THAT(ran.out, HasSubstr("wide\n")) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("status:Show how berthd is doing")) << ran.err;
}

using PodCompletionTest = BerthdTest;

TEST_F(PodCompletionTest, AsksBerthdForPodsAndContainers) {
  AddPod("web", "2");
  const std::vector<std::string> socket = {"__complete", "describe", "--socket", BerthdTest::socket(), "w"};
  EXPECT_EQ("web-n1\tGuaranteed, Running\n", Berth(socket).out);
  EXPECT_EQ("app\tapp\n", Berth({"__complete", "exec", "--socket", BerthdTest::socket(), "web", "-c", ""}).out);
  EXPECT_EQ("app\tapp\n", Berth({"__complete", "logs", "--socket", BerthdTest::socket(), "web", "-c", ""}).out);
  const RunOptions environment{.environment = {"BERTH_SOCKET=" + BerthdTest::socket()}, .input = {}};
  EXPECT_EQ("default/web-n1\tGuaranteed, Running\n", Berth({"__complete", "delete", "def"}, environment).out);
}

}  // namespace
}  // namespace berth
