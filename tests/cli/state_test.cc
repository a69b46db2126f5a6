#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "berthd_fixture.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kRealNode =
    R"({"policyName":"static","defaultCpuSet":"0-3,44-51,92-95","entries":{"d47c51cb-c5a2-4910-a92b-60a399dcc581":{"nginx":"24-43,72-91","test":"4-23,52-71"}},"checksum":2366120229})";

constexpr const char* kWithData =
    R"({"policyName":"static","defaultCpuSet":"0-7","checksum":14413152,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-7\"}","dataChecksum":3294586087})";

struct StateCommandTest : BerthdTest {
  static std::string Read(const std::string& path) { return testkit::ReadText(path); }
};

TEST_F(StateCommandTest, ARunningNodeKeepsItsPromises) {
  AddPod("web", "2");
  AddPod("logger", "");
  const Ran ran = Ask({"state", "verify"});
  EXPECT_EQ(0, ran.status) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("every promise is kept"));
  EXPECT_TRUE(AskJson({"state", "verify"})["sound"].get<bool>());
  EXPECT_THAT(Ask({"state", "show"}).out, AllOf(HasSubstr("Shared pool:   0-1,4-15"), HasSubstr("default/web-n1")));
}

TEST_F(StateCommandTest, FilesAreToldSoundDamagedOrForeign) {
  const Ran sound = Berth({"state", "verify", File("cpu_manager_state", kRealNode)});
  EXPECT_EQ(0, sound.status) << sound.out << sound.err;
  std::string text = kRealNode;
  text.replace(text.find("24-43"), 5, "24-42");
  const Ran damaged = Berth({"state", "verify", File("damaged", text)});
  EXPECT_EQ(1, damaged.status);
  EXPECT_THAT(damaged.out, HasSubstr("damaged: "));
  text.insert(1, R"("sockets":[],)");
  const Ran foreign = Berth({"state", "verify", File("foreign", text)});
  EXPECT_EQ(1, foreign.status);
  EXPECT_THAT(foreign.out, AllOf(HasSubstr("of another version: "), HasSubstr("sockets")));
  const Ran missing = Berth({"state", "verify", "/nonexistent/ledger"});
  EXPECT_EQ(1, missing.status);
  EXPECT_THAT(missing.out, HasSubstr("/nonexistent"));
}

TEST_F(StateCommandTest, AFileOfAFolderThatCannotBeLookedAtIsNotLeftOut) {
  const testkit::TempDir folder;
  std::ofstream(folder / "cpu_manager_state") << kRealNode;
  EXPECT_EQ(0, Berth({"state", "verify", folder.path()}).status);
  std::filesystem::create_symlink("ledger", folder / "ledger");
  const Ran checked = Berth({"state", "verify", folder.path()});
  EXPECT_EQ(1, checked.status);
  EXPECT_THAT(checked.out, HasSubstr("/ledger: Too many levels of symbolic links"));
}

TEST_F(StateCommandTest, AFileOfVersion1IsShownWithItsContainers) {
  for (const std::string checksum : {"0", "3352946236"}) {
    const std::string file =
        File("v1",
             R"({"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"cid-a":"2-3","cid-b":"4-5"},"checksum":)" +
                 checksum + "}");
    const Ran shown = Berth({"state", "show", file});
    EXPECT_EQ(0, shown.status) << shown.err;
    EXPECT_THAT(shown.out, AllOf(HasSubstr("cid-a"), HasSubstr("2-3"), HasSubstr("cid-b"), HasSubstr("0-1,6-7")));
    EXPECT_THAT(Berth({"state", "verify", file}).out, HasSubstr("2 pods: sound"));
  }
}

TEST_F(StateCommandTest, AFileOf137IsSoundOnlyWithItsDataChecksum) {
  std::string text = kWithData;
  EXPECT_THAT(Berth({"state", "verify", File("sound", text)}).out, HasSubstr("0 pods: sound"));
  text.replace(text.find("3294586087"), 10, "3294586088");
  const Ran damaged = Berth({"state", "verify", File("damaged", text)});
  EXPECT_EQ(1, damaged.status);
  EXPECT_THAT(damaged.out, AllOf(HasSubstr("damaged: "), HasSubstr("dataChecksum"), HasSubstr("restore the file")));
  const Ran shown = Berth({"state", "show", File("alone", "{" + text.substr(text.find(R"("data")")))});
  EXPECT_EQ(4, shown.status);
  EXPECT_THAT(shown.err, HasSubstr("dataChecksum")) << "known as a state file also by what stands in its data";
}

TEST_F(StateCommandTest, AKubeletsFilesGoInAndComeBackByteForByte) {
  const testkit::TempDir folder;
  std::filesystem::create_directory(folder / "kubelet");
  std::ofstream(folder / "kubelet/cpu_manager_state") << kRealNode;
  const std::vector<std::string> import = {"state",       "import",         "--kubelet-dir", folder / "kubelet",
                                           "--state-dir", folder / "state", "--cgroup-root", "none"};
  const Ran imported = Berth(import);
  EXPECT_EQ(0, imported.status) << imported.err;
  EXPECT_THAT(imported.out, AllOf(HasSubstr("nginx"), HasSubstr("24-43,72-91")));
  EXPECT_EQ(0, Berth({"state", "verify", folder / "state"}).status);
  const Ran exported = Berth({"state", "export", "--state-dir", folder / "state", "--to", folder / "out"});
  EXPECT_EQ(0, exported.status) << exported.err;
  EXPECT_EQ(kRealNode, Read(folder / "out/cpu_manager_state"));
  EXPECT_EQ(0, Berth({"state", "verify", folder / "out"}).status);
  const Ran newer = Berth(
      {"state", "export", "--state-dir", folder / "state", "--to", folder / "newer", "--kubelet-version", "1.37"});
  EXPECT_EQ(0, newer.status) << newer.err;
  std::string real = kRealNode;
  real.pop_back();
  EXPECT_THAT(Read(folder / "newer/cpu_manager_state"),
              AllOf(StartsWith(real + R"(,"data":"{\"policyName\":\"static\")"), HasSubstr(R"("dataChecksum":)")));
  EXPECT_THAT(Read(folder / "newer/memory_manager_state"), HasSubstr(R"("dataChecksum":)"));
  EXPECT_EQ(0, Berth({"state", "verify", folder / "newer"}).status);
  EXPECT_THAT(Berth({"state", "show", folder / "newer/cpu_manager_state"}).out, HasSubstr("24-43,72-91"));
  const Ran again = Berth(import);
  EXPECT_EQ(1, again.status) << "a ledger with pods is not replaced unasked";
  EXPECT_THAT(again.err, HasSubstr("--force"));
  std::vector<std::string> forced = import;
  forced.emplace_back("--force");
  EXPECT_EQ(0, Berth(forced).status);
}

TEST_F(StateCommandTest, WhatIsMissingIsSaid) {
  EXPECT_EQ(2, Berth({"state"}).status);
  EXPECT_EQ(2, Berth({"state", "export", "--state-dir", "/nonexistent"}).status);
  const Ran unknown = Berth({"state", "export", "--to", "/nonexistent", "--kubelet-version", "1.35"});
  EXPECT_EQ(2, unknown.status);
  EXPECT_THAT(unknown.err, HasSubstr("1.36|1.37|1.38"));
  const Ran import = Berth({"state", "import", "--kubelet-dir", "/nonexistent", "--cgroup-root", "none"});
  EXPECT_EQ(1, import.status);
  EXPECT_THAT(import.err, HasSubstr("/nonexistent"));
  EXPECT_EQ(4, Berth({"state", "verify", "--socket", "/nonexistent/x"}).status);
}

}  // namespace
}  // namespace berth
