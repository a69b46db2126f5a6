// What is written to an API server, and when nothing is.
#include "kubernetes/node_publisher/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/codec/node_state_json.h"
#include "kubernetes/node_publisher/fake_store_test.h"

namespace berth::node_publisher {
namespace {

using testing::HasSubstr;

struct WriterTest : ::testing::Test {
  std::unique_ptr<Writer> Make(Kind kind) {
    return std::make_unique<Writer>(WriterOptions{.kind = kind, .node = "n1", .version = "0.9"},
                                    [this] { return kube::Client::Make(store.access(), {.retries = 0}); });
  }
  Store store;
};

TEST_F(WriterTest, AStateIsWrittenOnceAndAgainWhenItIsAnother) {
  store.Put("/api/v1/nodes/n1", {{"metadata", {{"name", "n1"}, {"uid", "n-7"}}}});
  const auto writer = Make(Kind::kState);
  EXPECT_TRUE(*writer->Write(MomentOf(0), false, kNow));
  EXPECT_FALSE(*writer->Write(MomentOf(0), false, kNow + 60s));
  EXPECT_EQ(store.Calls("PATCH"), 1);
  EXPECT_EQ(store.Calls("GET"), 1) << "only the first time";
  EXPECT_TRUE(*writer->Write(MomentOf(2), false, kNow + 61s));
  const Json there = store.At(kStates);
  EXPECT_EQ(there["metadata"]["ownerReferences"][0]["uid"], "n-7");
  const auto read = codec::ReadNodeState(there.dump());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->node, "n1");
  EXPECT_EQ(read->generation, 2U);
  EXPECT_EQ(read->time, kNow + 61s);
  EXPECT_EQ(FormatIds(read->ledger.shared), "2-3");
}

TEST_F(WriterTest, OneThatComesLaterWritesNothingWhenTheServerHasTheSame) {
  ASSERT_TRUE(*Make(Kind::kState)->Write(MomentOf(1), false, kNow));
  ASSERT_TRUE(*Make(Kind::kTopology)->Write(MomentOf(1), false, kNow));
  EXPECT_FALSE(*Make(Kind::kState)->Write(MomentOf(1), false, kNow + 9s));
  EXPECT_FALSE(*Make(Kind::kTopology)->Write(MomentOf(1), false, kNow + 9s));
  EXPECT_EQ(store.Calls("PATCH"), 2);
  const auto third = Make(Kind::kState);
  EXPECT_TRUE(*third->Write(MomentOf(2), false, kNow + 9s));
  EXPECT_EQ(store.At(kStates)["generation"], 2) << "it goes on with the server's";
}

TEST_F(WriterTest, ALookFindsWhatSomebodyChangedOrRemoved) {
  const auto writer = Make(Kind::kTopology);
  ASSERT_TRUE(*writer->Write(MomentOf(1), false, kNow));
  Json changed = store.At(kTopologies);
  changed["zones"][0]["resources"][0]["available"] = "99";
  store.Put(kTopologies, changed);
  EXPECT_FALSE(*writer->Write(MomentOf(1), false, kNow));
  EXPECT_TRUE(*writer->Write(MomentOf(1), true, kNow));
  EXPECT_NE(store.At(kTopologies), changed);
  store.Put("/api/v1/nodes/n1", {{"metadata", {{"name", "n1"}, {"uid", "n-8"}}}});
  EXPECT_TRUE(*writer->Write(MomentOf(1), true, kNow)) << "the node was made anew: what belonged to the old one goes";
  EXPECT_EQ(store.At(kTopologies)["metadata"]["ownerReferences"][0]["uid"], "n-8");
  EXPECT_FALSE(*writer->Write(MomentOf(1), true, kNow));
}

/// Of the store of these tests: tests of berthd rely on its count.
TEST_F(WriterTest, AStateThatSomebodyElseWroteAlreadyCountsAsRepeated) {
  const auto one = Make(Kind::kState);
  const auto other = Make(Kind::kState);
  ASSERT_TRUE(*one->Write(MomentOf(0), false, kNow));
  ASSERT_TRUE(*other->Write(MomentOf(1), false, kNow));
  ASSERT_TRUE(*one->Write(MomentOf(2), false, kNow));
  EXPECT_EQ(store.repeated(), 0);
  ASSERT_TRUE(*other->Write(MomentOf(2), false, kNow + 1s)) << "it does not look";
  EXPECT_EQ(store.repeated(), 1) << "generation and time do not count";
}

TEST_F(WriterTest, TheTopologySaysHowManyNumaNodesAreAllowed) {
  ASSERT_TRUE(*Make(Kind::kTopology)->Write(MomentOf(1), false, kNow));
  EXPECT_THAT(store.At(kTopologies)["attributes"].dump(),
              HasSubstr(R"({"name":"topologyManagerMaxNUMANodes","value":"16"})"));
}

TEST_F(WriterTest, AFailedWriteIsMadeAgainAndNotDoneTwice) {
  const auto writer = Make(Kind::kState);
  store.Refuse("PATCH", 500, "InternalError");
  EXPECT_FALSE(writer->Write(MomentOf(1), false, kNow));
  store.Refuse("", 0, "");
  EXPECT_TRUE(*writer->Write(MomentOf(1), false, kNow));
  EXPECT_EQ(store.At(kStates)["generation"], 1);
}

TEST_F(WriterTest, RefusalsComeWithTheCure) {
  store.Refuse("PATCH", 404, "NotFound");
  EXPECT_THAT(Make(Kind::kState)->Write(MomentOf(1), false, kNow).error().message,
              HasSubstr("apply its CustomResourceDefinition"));
  store.Refuse("PATCH", 409, "Conflict");
  EXPECT_THAT(Make(Kind::kTopology)->Write(MomentOf(1), false, kNow).error().message,
              HasSubstr("somebody else writes this object"));
  store.Refuse("GET", 403, "Forbidden");
  EXPECT_EQ(Make(Kind::kState)->Write(MomentOf(1), false, kNow).error().code, Code::kPermission);
}

TEST_F(WriterTest, AnObjectThatIsNoneOfOursIsReplaced) {
  store.Put(kStates, {{"metadata", {{"name", "n1"}}}, {"generation", "many"}, {"ledger", {{"x", Json()}}}});
  EXPECT_TRUE(*Make(Kind::kState)->Write(MomentOf(1), false, kNow));
  EXPECT_TRUE(codec::ReadNodeState(store.At(kStates).dump()));
}

TEST_F(WriterTest, WhoGaveUpCallsNobody) {
  const auto writer = Make(Kind::kState);
  writer->GiveUp();
  EXPECT_EQ(writer->Write(MomentOf(1), false, kNow).error().code, Code::kCancelled);
  EXPECT_EQ(store.Calls("GET"), 0);
}

TEST_F(WriterTest, AnAccessThatCannotBeReadIsLookedForAgain) {
  int tries = 0;
  Writer writer({.kind = Kind::kState, .node = "n1", .version = "0.9"}, [&]() -> Result<std::unique_ptr<kube::Client>> {
    if (++tries < 2) return Fail(Code::kNotFound, "/etc/none: it is not there");
    return kube::Client::Make(store.access(), {.retries = 0});
  });
  EXPECT_THAT(writer.Write(MomentOf(1), false, kNow).error().message, HasSubstr("/etc/none"));
  EXPECT_TRUE(*writer.Write(MomentOf(1), false, kNow));
  EXPECT_FALSE(*writer.Write(MomentOf(1), false, kNow));
  EXPECT_EQ(tries, 2);
}

}  // namespace
}  // namespace berth::node_publisher
