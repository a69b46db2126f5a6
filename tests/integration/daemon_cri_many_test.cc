// Many pods: at once, and one after another. Nothing is left behind, and the runtime is told only of CPUs that changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cri_node.h"

namespace berth {
namespace {

using testkit::RelayedCall;

class DaemonCriManyTest : public testkit::CriNodeTest {
 protected:
  void AddShared(int count) {
    for (int i = 0; i < count; ++i) Add({.name = "p" + std::to_string(i)});
    ASSERT_TRUE(berthd->Until("all run", [&] {
      const codec::Json pods = berthd->Get("/v1/pods");
      return pods.is_object() && pods["pods"].size() == static_cast<std::size_t>(count) &&
             std::ranges::all_of(pods["pods"], [](const codec::Json& pod) { return pod["phase"] == "Running"; });
    }));
  }
  void RemoveShared(int count) {
    for (int i = 0; i < count; ++i) Remove("p" + std::to_string(i));
    ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
    ExpectNothingLeft();
    EXPECT_EQ(0, berthd->CountEvents("RuntimeNotReady")) << berthd->output();
    EXPECT_EQ(0, berthd->CountEvents("RuntimeWarning")) << berthd->output();
    EXPECT_EQ("", berthd->Repairs()) << berthd->output();
  }
  /// Requests to update a container, by its id.
  std::map<std::string, std::vector<std::string>> Updates() {
    std::map<std::string, std::vector<std::string>> out;
    for (const RelayedCall& call : relay->Calls())
      if (call.method == "UpdateContainerResources") out[call.about].push_back(call.request);
    return out;
  }
};

TEST_F(DaemonCriManyTest, ThirtyAtOnceLeaveNothing) {
  constexpr int kAtOnce = 30;
  PutRelayBetween();
  Start();
  AddShared(kAtOnce);
  EXPECT_EQ(0U, relay->Count("UpdateContainerResources"));
  EXPECT_EQ(static_cast<std::size_t>(kAtOnce), relay->Count("CreateContainer"));
  EXPECT_EQ(static_cast<std::size_t>(kAtOnce), relay->Count("RunPodSandbox"));
  RemoveShared(kAtOnce);
}

TEST_F(DaemonCriManyTest, ManyInARowLeaveNothingAndTellOnlyWhatChanged) {
  constexpr int kShared = 3;
  PutRelayBetween();
  Start();
  AddShared(kShared);
  const int rounds = testkit::Rounds(5);
  for (int round = 0; round < rounds; ++round) {
    Add({.name = "row", .cpu = "1"});
    ASSERT_TRUE(berthd->Until("row runs", [&] { return berthd->Runs("row"); })) << "round " << round;
    EXPECT_EQ("1", FormatIds(CpusOf("row")));
    Remove("row");
    ASSERT_TRUE(berthd->Until("row is gone", [&] { return Gone("row"); })) << "round " << round;
  }
  const auto updates = Updates();
  EXPECT_LE(updates.size(), static_cast<std::size_t>(kShared)) << "only the shared ones change";
  std::size_t calls = 0;
  for (const auto& [id, requests] : updates) {
    EXPECT_LE(requests.size(), 2U * static_cast<std::size_t>(rounds)) << "one to shrink, one to grow";
    EXPECT_EQ(requests.end(), std::ranges::adjacent_find(requests)) << "told twice: " << id;
    calls += requests.size();
  }
  RecordProperty("updates", static_cast<int>(calls));
  RemoveShared(kShared);
}

}  // namespace
}  // namespace berth
