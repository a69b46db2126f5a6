#include "rpc/nri/socket_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "testing/fixtures.h"

namespace berth::nri {
namespace {

os::MonoTime InTenSeconds() { return os::SystemClock().Now() + std::chrono::seconds(10); }

TEST(SocketWatch, ALinkOnTheWayThatLeadsNowhereIsAFolderThatIsNotThere) {
  const testkit::TempDir temp;
  std::filesystem::create_symlink(temp / "data", temp / "nri");
  SocketWatch watch(temp / "nri/nri.sock");
  watch.Begin();
  EXPECT_FALSE(watch.Wait(-1, os::SystemClock().Now()));
  std::filesystem::remove(temp / "nri");
  std::filesystem::create_directory(temp / "nri");
  std::ofstream(temp / "nri/nri.sock") << "";
  EXPECT_TRUE(watch.Wait(-1, InTenSeconds()));
}

TEST(SocketWatch, ALinkThatLeadsToAFolderIsFollowed) {
  const testkit::TempDir temp;
  std::filesystem::create_directory(temp / "data");
  std::filesystem::create_symlink(temp / "data", temp / "nri");
  SocketWatch watch(temp / "nri/nri.sock");
  watch.Begin();
  std::ofstream(temp / "data/nri.sock") << "";
  EXPECT_TRUE(watch.Wait(-1, InTenSeconds()));
}

}  // namespace
}  // namespace berth::nri
