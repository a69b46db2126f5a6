// The contract of Fs, held to by the real file system and by the one in memory that other tests stand on.
#include "host/os/fs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "testing/fixtures.h"
#include "testing/memory_fs.h"

namespace berth::os {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// a file system with: a/one ("1\n"), a/two ("22"), empty dir d, link a/link -> one, link up -> /a/two, dangling.
class FsContractTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam()) {
      memory_.AddFile("a/one", "1\n");
      memory_.AddFile("a/two", "22");
      memory_.AddDir("d");
      memory_.AddLink("a/link", "one");
      memory_.AddLink("up", "/a/two");
      memory_.AddLink("dangling", "nowhere");
      fs_ = &memory_;
      return;
    }
    std::filesystem::create_directories(dir_ / "a");
    std::filesystem::create_directories(dir_ / "d");
    std::ofstream(dir_ / "a/one") << "1\n";
    std::ofstream(dir_ / "a/two") << "22";
    std::filesystem::create_symlink("one", dir_ / "a/link");
    std::filesystem::create_symlink("/a/two", dir_ / "up");
    std::filesystem::create_symlink("nowhere", dir_ / "dangling");
    auto opened = OpenFs(dir_.path());
    ASSERT_TRUE(opened) << opened.error().message;
    real_ = *std::move(opened);
    fs_ = real_.get();
  }
  std::string Text(std::string_view path) {
    const auto text = fs_->Read(path);
    return text ? *text : "error: " + text.error().message;
  }

  testkit::TempDir dir_;
  testkit::MemoryFs memory_;
  std::unique_ptr<Fs> real_;
  Fs* fs_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Both, FsContractTest, ::testing::Bool(),
                         [](const auto& which) { return which.param ? "Real" : "Memory"; });

TEST_P(FsContractTest, ReadsWholeFilesWithOrWithoutALeadingSlash) {
  EXPECT_EQ("1\n", Text("a/one"));
  EXPECT_EQ("22", Text("//a/./two"));
}

TEST_P(FsContractTest, FollowsLinksInsideTheRoot) {
  EXPECT_EQ("1\n", Text("a/link"));
  EXPECT_EQ("22", Text("up")) << "an absolute target starts at the root of the tree";
  EXPECT_EQ("one", *fs_->ReadLink("a/link"));
  EXPECT_EQ(EINVAL, fs_->ReadLink("a/one").error().sys);
}

TEST_P(FsContractTest, RefusesDotDot) {
  EXPECT_EQ(Code::kInvalid, fs_->Read("a/../a/one").error().code);
  EXPECT_EQ(Code::kInvalid, fs_->Replace("../x", "").error().code);
  EXPECT_EQ(Code::kInvalid, fs_->MakeDir("d/..").error().code);
}

TEST_P(FsContractTest, NamesThePathAndErrnoOfAMissingFile) {
  const auto r = fs_->Read("a/none");
  ASSERT_FALSE(r);
  EXPECT_EQ(Code::kNotFound, r.error().code);
  EXPECT_EQ(ENOENT, r.error().sys);
  EXPECT_THAT(r.error().message, HasSubstr("a/none"));
  EXPECT_EQ(EISDIR, fs_->Read("a").error().sys);
}

TEST_P(FsContractTest, WriteNeverCreatesAndReplacesTheContent) {
  EXPECT_EQ(ENOENT, fs_->Write("a/new", "x").error().sys);
  EXPECT_FALSE(*fs_->Exists("a/new"));
  ASSERT_TRUE(fs_->Write("a/two", "3"));
  EXPECT_EQ("3", Text("a/two"));
}

TEST_P(FsContractTest, ListsSortedNames) {
  EXPECT_THAT(*fs_->List("/"), ElementsAre("a", "d", "dangling", "up"));
  EXPECT_THAT(*fs_->List("a"), ElementsAre("link", "one", "two"));
  EXPECT_THAT(*fs_->List("d"), IsEmpty());
  EXPECT_EQ(ENOENT, fs_->List("none").error().sys);
  EXPECT_EQ(ENOTDIR, fs_->List("a/one").error().sys);
}

TEST_P(FsContractTest, MakesAndRemovesDirectoriesTwice) {
  ASSERT_TRUE(fs_->MakeDir("d/e"));
  ASSERT_TRUE(fs_->MakeDir("d/e"));
  EXPECT_TRUE(*fs_->Exists("d/e"));
  EXPECT_EQ(ENOENT, fs_->MakeDir("x/y").error().sys);
  EXPECT_EQ(ENOTDIR, fs_->MakeDir("a/one").error().sys);
  EXPECT_EQ(ENOTEMPTY, fs_->RemoveDir("d").error().sys);
  ASSERT_TRUE(fs_->RemoveDir("d/e"));
  ASSERT_TRUE(fs_->RemoveDir("d/e"));
  ASSERT_TRUE(fs_->RemoveDir("no/such/dir"));
}

TEST_P(FsContractTest, ReplaceCreatesOrOverwritesAndLeavesNothingElse) {
  ASSERT_TRUE(fs_->Replace("d/state", "first"));
  ASSERT_TRUE(fs_->Replace("d/state", std::string(100'000, 'x')));
  EXPECT_EQ(std::string(100'000, 'x'), Text("d/state"));
  EXPECT_THAT(*fs_->List("d"), ElementsAre("state"));
  EXPECT_EQ(ENOENT, fs_->Replace("none/state", "x").error().sys);
}

TEST_P(FsContractTest, LinkKeepsTheOldContentWhenTheOtherNameIsReplaced) {
  ASSERT_TRUE(fs_->Replace("d/state", "old"));
  ASSERT_TRUE(fs_->Replace("d/before", "older"));
  ASSERT_TRUE(fs_->Link("d/state", "d/before"));
  ASSERT_TRUE(fs_->Link("d/state", "d/before")) << "already so";
  ASSERT_TRUE(fs_->Replace("d/state", "new"));
  EXPECT_EQ("old", Text("d/before"));
  EXPECT_EQ("new", Text("d/state"));
  EXPECT_THAT(*fs_->List("d"), ElementsAre("before", "state"));
  EXPECT_EQ(Code::kNotFound, fs_->Link("d/none", "d/x").error().code);
}

TEST_P(FsContractTest, RemovingAFileTwiceIsFine) {
  ASSERT_TRUE(fs_->RemoveFile("a/one"));
  ASSERT_TRUE(fs_->RemoveFile("a/one"));
  EXPECT_FALSE(*fs_->Exists("a/one"));
  ASSERT_TRUE(fs_->RemoveFile("dangling")) << "the link itself, not its target";
}

TEST_P(FsContractTest, ADanglingLinkDoesNotExist) {
  EXPECT_FALSE(*fs_->Exists("dangling"));
  EXPECT_TRUE(*fs_->Exists("a"));
  EXPECT_TRUE(*fs_->Exists("a/one"));
}

TEST(RealFsTest, ReadsKernelFilesThatReportSizeZero) {
  auto fs = OpenFs("/");
  ASSERT_TRUE(fs);
  const auto text = (*fs)->Read("/proc/self/status");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("Cpus_allowed_list:"));
}

TEST(RealFsTest, LinksDoNotLeadOutOfTheTree) {
  const testkit::TempDir dir;
  std::filesystem::create_directories(dir / "root");
  std::ofstream(dir / "secret") << "x";
  std::filesystem::create_symlink("../secret", dir / "root/out");
  auto fs = OpenFs(dir / "root");
  ASSERT_TRUE(fs);
  EXPECT_EQ(ENOENT, (*fs)->Read("out").error().sys);
}

TEST(RealFsTest, RefusesPipesInsteadOfWaitingOnThem) {
  const testkit::TempDir dir;
  ASSERT_EQ(0, ::mkfifo((dir / "pipe").c_str(), 0600));
  auto fs = OpenFs(dir.path());
  ASSERT_TRUE(fs);
  EXPECT_EQ(Code::kInvalid, (*fs)->Read("pipe").error().code);
}

TEST(RealFsTest, RefusesFilesThatAreTooLarge) {
  const testkit::TempDir dir;
  std::ofstream(dir / "big") << "x";
  std::filesystem::resize_file(dir / "big", Fs::kMaxFileSize + 1);
  auto fs = OpenFs(dir.path());
  ASSERT_TRUE(fs);
  const auto r = (*fs)->Read("big");
  ASSERT_FALSE(r);
  EXPECT_EQ(Code::kInvalid, r.error().code);
  EXPECT_THAT(r.error().message, HasSubstr("larger than 64 MiB"));
  std::filesystem::resize_file(dir / "big", std::size_t{2} << 20);
  EXPECT_TRUE((*fs)->Read("big"));
  auto bounded = OpenFs(dir.path(), std::size_t{1} << 20);
  ASSERT_TRUE(bounded);
  EXPECT_THAT((*bounded)->Read("big").error().message, HasSubstr("larger than 1 MiB"));
}

TEST(RealFsTest, ReplaceMakesPrivateFilesAndClearsOldTemporaries) {
  const testkit::TempDir dir;
  std::ofstream(dir / ".state.tmp") << "left by a crash";
  auto fs = OpenFs(dir.path());
  ASSERT_TRUE(fs);
  ASSERT_TRUE((*fs)->Replace("state", "new"));
  struct stat st{};
  ASSERT_EQ(0, ::stat((dir / "state").c_str(), &st));
  EXPECT_EQ(0600u, st.st_mode & 07777);
  EXPECT_THAT(*(*fs)->List(""), ElementsAre("state"));
}

TEST(RealFsTest, AFailedReplaceLeavesTheOldFileAndNoTemporary) {
  const testkit::TempDir dir;
  std::filesystem::create_directories(dir / "state/full");
  auto fs = OpenFs(dir.path());
  ASSERT_TRUE(fs);
  const auto r = (*fs)->Replace("state", "new");
  ASSERT_FALSE(r);
  EXPECT_EQ(EISDIR, r.error().sys);
  EXPECT_THAT(*(*fs)->List(""), ElementsAre("state"));
  EXPECT_TRUE(*(*fs)->Exists("state/full"));
}

TEST(RealFsTest, AFullDiskFailsCleanly) {
  auto fs = OpenFs("/dev");
  ASSERT_TRUE(fs);
  const auto r = (*fs)->Write("full", "x");
  ASSERT_FALSE(r);
  EXPECT_EQ(ENOSPC, r.error().sys);
  EXPECT_EQ(Code::kExhausted, r.error().code);
  EXPECT_THAT(r.error().message, HasSubstr("/dev/full"));
}

TEST(RealFsTest, OpeningAMissingRootIsAnError) {
  const auto fs = OpenFs("/no/such/root");
  ASSERT_FALSE(fs);
  EXPECT_EQ(Code::kNotFound, fs.error().code);
  EXPECT_THAT(fs.error().message, HasSubstr("/no/such/root"));
}

}  // namespace
}  // namespace berth::os
