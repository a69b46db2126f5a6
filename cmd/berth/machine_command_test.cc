#include "berth/machine_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "api/codec/codec.h"
#include "host/machine/load_machine.h"
#include "testing/fixtures.h"

namespace berth::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Answer {
  int status = 0;
  std::string out, err;
};

Answer RunIt(const MachineOptions& options) {
  std::ostringstream out, err;
  Answer answer;
  answer.status = RunMachine(options, out, err);
  answer.out = out.str();
  answer.err = err.str();
  return answer;
}

TEST(MachineCommandTest, ShowsATable) {
  const Answer answer = RunIt({.from = "pack:2 core:2 pu:2", .output = "table", .capture = "", .table = {}});
  EXPECT_EQ(0, answer.status);
  EXPECT_THAT(answer.out,
              StartsWith("Machine        synthetic machine 'pack:2 core:2 pu:2'\nCPUs           8 usable of 8"));
  EXPECT_EQ("", answer.err);
}

TEST(MachineCommandTest, MachineInfoCanBeReadBack) {
  const Answer answer =
      RunIt({.from = "pack:2 numa:1 core:2 pu:2", .output = "machineinfo", .capture = "", .table = {}});
  EXPECT_EQ(0, answer.status);
  const Result<Machine> back = machine::ParseMachineInfo(answer.out, "out");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(8, back->reported_cpus);
}

TEST(MachineCommandTest, JsonAndYamlSayTheSame) {
  const Answer json = RunIt({.from = "core:2 pu:2", .output = "json", .capture = "", .table = {}});
  const auto parsed = codec::ParseJson(json.out, "out");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ("0-3", parsed->value("online", ""));
  EXPECT_THAT(RunIt({.from = "core:2 pu:2", .output = "yaml", .capture = "", .table = {}}).out,
              HasSubstr("online: \"0-3\"\n"));
}

TEST(MachineCommandTest, ATerminalGetsNoControlCharactersOfOthers) {
  const testkit::TempDir folder;
  const std::string file = folder / "e\x1b[31mvil.json";
  std::ofstream(file) << RunIt({.from = "core:2 pu:1", .output = "machineinfo", .capture = "", .table = {}}).out;
  MachineOptions options{.from = file, .output = "jsonpath={.source}", .capture = "", .table = {}};
  EXPECT_THAT(RunIt(options).out, HasSubstr("\x1b")) << "a program gets what it is";
  options.terminal = true;
  EXPECT_THAT(RunIt(options).out, testing::AllOf(HasSubstr("vil.json"), testing::Not(HasSubstr("\x1b"))));
}

TEST(MachineCommandTest, SavesThisHostAndSaysHowToShowIt) {
  const testkit::TempDir dir;
  const std::string file = dir / "host.tar.gz";
  const Answer answer = RunIt({.from = "host", .output = "table", .capture = file, .table = {}});
  EXPECT_EQ(0, answer.status) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("berth machine -m " + file));
  EXPECT_EQ(0, RunIt({.from = file, .output = "table", .capture = "", .table = {}}).status);
}

TEST(MachineCommandTest, ErrorsHaveAStatusAndASentence) {
  const testkit::TempDir dir;
  const Answer nowhere = RunIt({.from = "nowhere", .output = "table", .capture = "", .table = {}});
  EXPECT_EQ(1, nowhere.status);
  EXPECT_THAT(nowhere.err, StartsWith("berth: machine 'nowhere': tried as"));
  EXPECT_EQ("", nowhere.out);
  EXPECT_EQ(2, RunIt({.from = "host", .output = "xml", .capture = "", .table = {}}).status);
  const Answer zip = RunIt({.from = "host", .output = "table", .capture = dir / "m.zip", .table = {}});
  EXPECT_EQ(1, zip.status);
  EXPECT_THAT(zip.err, HasSubstr("must end in .tar"));
  EXPECT_FALSE(std::filesystem::exists(dir / "m.zip"));
  const Answer synthetic = RunIt({.from = "pu:2", .output = "table", .capture = dir / "m.tar", .table = {}});
  EXPECT_EQ(1, synthetic.status);
  EXPECT_THAT(synthetic.err, HasSubstr("only this host and folders can be captured, not 'pu:2'"));
}

}  // namespace
}  // namespace berth::cli
