#include "runtime/cri/log_keeper.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/fixtures.h"

namespace berth::cri {
namespace {

void WriteText(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string TextOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(LogKeeperTest, RotatesWhatIsLongerThanItsLimit) {
  const testkit::TempDir temp;
  const std::string log = temp / "0.log";
  for (const char* const text : {"first ", "second ", "third ", "fourth "}) {
    WriteText(log, "at the limit");
    EXPECT_EQ(LogStep::kNothing, *RotateLog(log, 12, 3));
    WriteText(log, std::string(text) + "is too long");
    EXPECT_EQ(LogStep::kReopen, *RotateLog(log, 12, 3));
    EXPECT_FALSE(std::filesystem::exists(log));
  }
  EXPECT_EQ("fourth is too long", TextOf(log + ".1"));
  EXPECT_EQ("third is too long", TextOf(log + ".2"));
  EXPECT_FALSE(std::filesystem::exists(log + ".3")) << "with the current one there are three";
}

TEST(LogKeeperTest, OpensAgainWhatWasRenamedAndNotOpened) {
  const testkit::TempDir temp;
  WriteText(temp / "0.log.1", "renamed");
  EXPECT_EQ(LogStep::kReopen, *RotateLog(temp / "0.log", 12, 3));
  EXPECT_EQ("renamed", TextOf(temp / "0.log.1")) << "nothing is renamed twice";
}

TEST(LogKeeperTest, LeavesAloneWhatIsNoFile) {
  const testkit::TempDir temp;
  std::filesystem::create_directory(temp / "0.log");
  EXPECT_EQ(LogStep::kNothing, *RotateLog(temp / "0.log", 0, 3));
  WriteText(temp / "long", std::string(100, 'x'));
  std::filesystem::create_symlink(temp / "long", temp / "1.log");
  EXPECT_EQ(LogStep::kNothing, *RotateLog(temp / "1.log", 10, 3));
  EXPECT_FALSE(RotateLog(temp / "long/x.log", 10, 3));
}

TEST(LogLinkTest, ALinkLeadsToALogAndGoesWithIt) {
  namespace fs = std::filesystem;
  testkit::TempDir temp;
  const std::string logs = temp / "pods";
  const std::string links = temp / "containers";
  runtime::StartRequest request;
  request.pod_name = "web";
  request.pod_namespace = "shop";
  request.container.name = "app";
  request.log_path = logs + "/shop_web_1/app/0.log";
  fs::create_directories(logs + "/shop_web_1/app");
  std::ofstream(request.log_path) << "line";
  ASSERT_TRUE(LinkLog(links, request, "abc"));
  ASSERT_TRUE(LinkLog(links, request, "abc")) << "it is there";
  const std::string link = links + "/web_shop_app-abc.log";
  EXPECT_EQ(request.log_path, fs::read_symlink(link));
  fs::create_symlink("/nowhere/else", links + "/foreign");
  SweepLinks(links, logs);
  EXPECT_TRUE(fs::is_symlink(link));
  fs::remove(request.log_path);
  SweepLinks(links, logs);
  EXPECT_FALSE(fs::is_symlink(link));
  EXPECT_TRUE(fs::is_symlink(links + "/foreign")) << "not ours";
}

}  // namespace
}  // namespace berth::cri
