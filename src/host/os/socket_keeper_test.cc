#include "host/os/socket_keeper.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

constexpr Millis kPause{1'000};

/// A keeper of a plain file, at times that the test names.
struct SocketKeeperTest : testing::Test {
  void SetUp() override {
    Make("own");
    own = true;
    At(Millis(0));
    ASSERT_EQ(keeper.next(), start) << "what happened before it was watched";
    At(Millis(0));
    ASSERT_EQ(keeper.next(), std::nullopt);
    ASSERT_GE(keeper.fd(), 0);
  }
  void Make(const std::string& text) const { std::ofstream(path) << text; }
  void Lose() {
    std::filesystem::remove(path);
    own = false;
  }
  void At(Millis time) { keeper.Look(start + time); }
  bool Happened() const {
    pollfd fd{.fd = keeper.fd(), .events = POLLIN, .revents = 0};
    return ::poll(&fd, 1, 0) == 1;
  }

  const MonoTime start = MonoTime(std::chrono::hours(1));
  testkit::TempDir temp;
  const std::string path = temp / "socket";
  bool own = false;
  std::string refusal;  // "": it can be made again
  int tries = 0;
  std::vector<std::string> told;  // "": it is there again
  SocketKeeper keeper{
      {.socket = path,
       .pause = kPause,
       .has_its_file = [this] { return own; },
       .listen_again = [this]() -> Result<void> {
         ++tries;
         if (!refusal.empty()) return Fail(Code::kInUse, refusal);
         Make("own");
         own = true;
         return {};
       },
       .tell = [this](const Result<void>& again) { told.push_back(again ? "" : again.error().message); }}};
};

TEST_F(SocketKeeperTest, WaitsAfterALossAndMakesItAgain) {
  Lose();
  EXPECT_TRUE(Happened());
  At(Millis(0));
  EXPECT_EQ(keeper.next(), start + kPause);
  At(kPause - Millis(1));
  EXPECT_EQ(tries, 0);
  At(kPause);
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(told, std::vector<std::string>{""});
  EXPECT_EQ(keeper.next(), std::nullopt);
}

TEST_F(SocketKeeperTest, WaitsAnewWhenSomebodyElseMadeAFileMeanwhile) {
  Lose();
  At(Millis(0));
  Make("of somebody else, who may be about to listen");
  At(kPause);
  EXPECT_EQ(tries, 0);
  EXPECT_EQ(keeper.next(), start + 2 * kPause);
  const std::filesystem::path other = path + ".other";
  std::ofstream(other) << "another one";
  std::filesystem::rename(other, path);
  At(2 * kPause);
  EXPECT_EQ(tries, 0);
  At(3 * kPause);
  EXPECT_EQ(tries, 1) << "it has been the same one for a pause";
}

TEST_F(SocketKeeperTest, AnErrorIsToldOnceAndTriedAgainInTimeWhateverHappensInTheFolder) {
  Lose();
  refusal = "somebody listens there";
  At(Millis(0));
  At(kPause);
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(keeper.next(), start + kPause + Millis(1'000));
  std::ofstream(temp / ".socket~") << "x";
  EXPECT_TRUE(Happened());
  At(kPause + Millis(1));
  EXPECT_FALSE(Happened()) << "its event is taken";
  EXPECT_EQ(tries, 1);
  At(kPause + Millis(1'000));
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(told, std::vector<std::string>{refusal});
  refusal.clear();
  At(kPause + Millis(2'000));
  EXPECT_EQ(told, (std::vector<std::string>{"somebody listens there", ""}));
  EXPECT_EQ(keeper.next(), std::nullopt);
}

TEST_F(SocketKeeperTest, AFileThatIsBackByItselfIsNotMadeAgain) {
  Lose();
  At(Millis(0));
  own = true;
  At(kPause);
  EXPECT_EQ(tries, 0);
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(keeper.next(), std::nullopt);
}

TEST_F(SocketKeeperTest, LooksByTimeWhileThereIsNoFolder) {
  own = false;
  std::filesystem::remove_all(temp.path());
  At(Millis(0));
  EXPECT_EQ(keeper.fd(), -1);
  EXPECT_EQ(keeper.next(), start + kPause);
}

}  // namespace
}  // namespace berth::os
