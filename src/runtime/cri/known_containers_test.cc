#include "runtime/cri/known_containers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/cri/cri_specs.h"

namespace berth::cri {
namespace {

using runtime::ContainerState;
using runtime::ContainerStatus;
using State = ContainerEntry::State;
using Ids = std::vector<std::string>;

ContainerStatus Running(const std::string& id, const std::string& container = "app") {
  return {.id = id, .pod_uid = "pod", .container = container, .state = ContainerState::kRunning};
}

ContainerEntry Entry(const std::string& id, State state, std::uint32_t attempt = 0,
                     const std::string& container = "app") {
  return {.id = id, .attempt = attempt, .state = state, .labels = {{kPodUid, "pod"}, {kContainerName, container}}};
}

const Error kRefusal{.code = Code::kInternal, .message = "write cpuset.cpus: permission denied"};

TEST(KnownContainersTest, TellsTheEndedFromTheVanished) {
  KnownContainers known;
  for (const char* const id : {"runs", "ended", "lost", "gone"}) known.Take(Running(id), std::nullopt);
  const Seen seen = known.Compare({Entry("runs", State::kRunning), Entry("ended", State::kExited),
                                   Entry("lost", State::kUnknown), Entry("somebody's", State::kRunning)},
                                  known.BeginLook());
  EXPECT_EQ((Ids{"ended", "lost"}), seen.ended);
  ASSERT_EQ(1U, seen.vanished.size());
  EXPECT_EQ("gone", seen.vanished[0].id);
  EXPECT_EQ(ContainerState::kUnknown, seen.vanished[0].state);
  EXPECT_FALSE(seen.vanished[0].message.empty());
  EXPECT_EQ(nullptr, known.Find("somebody's"));
}

TEST(KnownContainersTest, TellsThoseThatNobodyCouldAskForWhenTheyWereStarted) {
  KnownContainers known;
  known.Take(Running("untold"), std::nullopt);
  ContainerStatus told = Running("told");
  told.started_at = "2026-11-29T10:00:00Z";
  known.Take(told, std::nullopt);
  const std::vector<ContainerEntry> list = {Entry("told", State::kRunning), Entry("untold", State::kRunning)};
  EXPECT_EQ(Ids{"untold"}, known.Compare(list, known.BeginLook()).untold);
  told.id = "untold";
  known.Take(told, std::nullopt);
  EXPECT_EQ(Ids{}, known.Compare(list, known.BeginLook()).untold);
}

TEST(KnownContainersTest, SaysOnlyOnceThatOneHasVanished) {
  KnownContainers known;
  known.Take(Running("gone"), std::nullopt);
  const Seen seen = known.Compare({}, known.BeginLook());
  ASSERT_EQ(1U, seen.vanished.size());
  known.Take(seen.vanished[0], std::nullopt);
  EXPECT_TRUE(known.Compare({}, known.BeginLook()).vanished.empty());
}

TEST(KnownContainersTest, JudgesNoContainerByAnAnswerThatIsOlderThanIt) {
  KnownContainers known;
  const std::uint64_t look = known.BeginLook();
  known.Take(Running("new"), std::nullopt);
  EXPECT_TRUE(known.Compare({}, look).vanished.empty());
  EXPECT_EQ(1U, known.Compare({}, known.BeginLook()).vanished.size());
}

TEST(KnownContainersTest, ForgetsNothingThatRuns) {
  KnownContainers known;
  known.Take(Running("a"), std::nullopt);
  EXPECT_EQ(Code::kConflict, known.Forget("a").error().code);
  ContainerStatus ended = Running("a");
  ended.state = ContainerState::kExited;
  known.Take(ended, std::nullopt);
  EXPECT_EQ("pod", **known.Forget("a"));
  EXPECT_EQ(std::nullopt, *known.Forget("a"));
  EXPECT_TRUE(known.List().empty());
}

TEST(KnownContainersTest, UpdatesOnlyRecordsThatDiffer) {
  KnownContainers known;
  for (const char* const id : {"same", "other", "unsaid"}) {
    known.Take(Running(id, id), "0-3");
    known.Want("pod", id, "0-3");
  }
  known.Take(Running("unknown", "unknown"), std::nullopt);  // its record is not known
  known.Want("pod", "unknown", "0-3");
  known.Take(Running("free", "free"), "0-3");  // nobody said what it shall have
  known.Want("pod", "other", "0-1");
  known.Want("pod", "unsaid", "");
  ContainerStatus ended = Running("ended", "ended");
  ended.state = ContainerState::kExited;  // the runtime would say OK and do nothing
  known.Take(ended, "0-3");
  known.Want("pod", "ended", "0-1");
  EXPECT_EQ((Ids{"other", "unknown"}), known.UpdatesDue());
  EXPECT_TRUE(known.UpdatesDue().empty()) << "they are under way";
}

TEST(KnownContainersTest, CostsNoCallForWhatChangesBack) {
  KnownContainers known;
  known.Take(Running("a"), "0-3");
  known.Want("pod", "app", "0-1");
  known.Want("pod", "app", "0-3");
  EXPECT_TRUE(known.UpdatesDue().empty());
}

Resources Only(std::string cpus) {
  Resources out;
  out.cpus = std::move(cpus);
  return out;
}

TEST(KnownContainersTest, ValuesOfAResizedContainerGoWithItsCpusOnce) {
  KnownContainers known;
  known.Take(Running("a"), "0-3");
  known.Want("pod", "app", "0-3");
  EXPECT_TRUE(known.UpdatesDue().empty());
  Resources values = Only("9");
  values.memory_limit = 1 << 20;
  known.WantValues("pod", "app", values);
  ASSERT_EQ(Ids{"a"}, known.UpdatesDue());
  values.cpus = "0-3";  // what it shall have, whatever the values say
  EXPECT_EQ(values, known.UpdateBegins("a"));
  EXPECT_EQ(std::nullopt, known.UpdateEnded("a", values, std::unexpected(kRefusal)));
  ASSERT_EQ(Ids{"a"}, known.UpdatesDue()) << "refused: once more";
  EXPECT_EQ(std::nullopt, known.UpdateEnded("a", values, {}));
  EXPECT_TRUE(known.UpdatesDue().empty());
}

TEST(KnownContainersTest, SendsTheNewestValueAndComesBackForWhatIsNewer) {
  KnownContainers known;
  known.Take(Running("a"), "0-3");
  known.Want("pod", "app", "0-1");
  ASSERT_EQ(Ids{"a"}, known.UpdatesDue());
  known.Want("pod", "app", "0");
  EXPECT_EQ(Only("0"), known.UpdateBegins("a"));
  known.Want("pod", "app", "1");
  EXPECT_TRUE(known.UpdatesDue().empty()) << "one call at a time";
  EXPECT_EQ(std::nullopt, known.UpdateEnded("a", Only("0"), {}));
  EXPECT_EQ(Ids{"a"}, known.UpdatesDue());
  EXPECT_EQ(Only("1"), known.UpdateBegins("a"));
  EXPECT_EQ(std::nullopt, known.UpdateEnded("a", Only("1"), {}));
  EXPECT_TRUE(known.UpdatesDue().empty());
  EXPECT_EQ(std::nullopt, known.UpdateBegins("nobody"));
}

TEST(KnownContainersTest, SendsAgainWhatWasRefusedAndTellsOnce) {
  KnownContainers known;
  known.Take(Running("a"), "0-3");
  known.Want("pod", "app", "0-1");
  int told = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(Ids{"a"}, known.UpdatesDue());
    if (known.UpdateEnded("a", Only("0-1"), std::unexpected(kRefusal))) ++told;
  }
  EXPECT_EQ(1, told);
  ASSERT_EQ(Ids{"a"}, known.UpdatesDue());
  known.UpdateEnded("a", Only("0-1"), {});
  EXPECT_TRUE(known.UpdatesDue().empty());
}

TEST(KnownContainersTest, ForgetsWhatAPodsContainersShouldHave) {
  KnownContainers known;
  known.Want("pod", "app", "1");
  known.Want("other", "app", "2");
  known.ForgetPod("pod");
  EXPECT_EQ("", known.Wanted("pod", "app"));
  EXPECT_EQ("2", known.Wanted("other", "app"));
}

TEST(KnownContainersTest, KeepsOfWhatIsFoundTheNewestAttempts) {
  const std::vector<ContainerEntry> found = {
      Entry("old", State::kExited, 0),           Entry("dead", State::kExited, 1),
      Entry("runs", State::kRunning, 2),         Entry("made", State::kCreated, 3),
      Entry("last", State::kExited, 4, "other"), Entry("strange", State::kUnknown, 0, "other")};
  Ids ids;
  for (const ContainerEntry& entry : OfNoUse(found)) ids.push_back(entry.id);
  EXPECT_EQ((Ids{"old", "dead", "made"}), ids);
}

}  // namespace
}  // namespace berth::cri
