#include "kubernetes/kube_client/kube_object.h"

#include <gtest/gtest.h>

#include "kubernetes/kube_client/fake_api_test.h"
#include "kubernetes/kube_client/kube_event.h"
#include "kubernetes/kube_client/line_reader.h"

namespace berth::kube {
namespace {

TEST(KubeObjectTest, MetadataIsReadAndTheTextKept) {
  const std::string text = PodText("web", "12");
  const auto object = ReadObject(text);
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->key, (ObjectKey{"default", "web"}));
  EXPECT_EQ(object->uid, "u-web");
  EXPECT_EQ(object->resource_version, "12");
  EXPECT_EQ(object->json, text);
  for (const char* const bad : {"", "[]", "{}", R"({"metadata":1})", R"({"metadata":{"name":1}})"})
    EXPECT_FALSE(ReadObject(bad)) << bad;
}

TEST(KubeObjectTest, AListMayHaveNoItems) {
  EXPECT_EQ(ReadList(R"({"metadata":{"resourceVersion":"5"},"items":null})")->items, "");
  const auto list = ReadList(R"({"metadata":{"resourceVersion":"5","continue":"t"},"items":[1]})");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->resource_version, "5");
  EXPECT_EQ(list->continue_token, "t");
  EXPECT_EQ(list->items, "[1]");
}

TEST(KubeObjectTest, TheBookmarkThatEndsTheStateIsKnown) {
  EXPECT_TRUE(EndsInitialEvents(R"({"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}})"));
  EXPECT_FALSE(EndsInitialEvents(R"({"metadata":{"resourceVersion":"1"}})"));
  EXPECT_FALSE(EndsInitialEvents(R"({"metadata":[]})"));
  EXPECT_FALSE(EndsInitialEvents(""));
}

TEST(KubeStatusTest, WhatTheServerSaysIsRead) {
  const Status status = ReadStatus(504, R"({"kind":"Status","code":504,"reason":"Timeout","message":"Too large",
      "details":{"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1}})");
  EXPECT_EQ(status.code, 504);
  EXPECT_EQ(status.reason, "Timeout");
  EXPECT_EQ(status.cause, "ResourceVersionTooLarge");
  EXPECT_EQ(status.retry_after, std::chrono::seconds(1));
}

TEST(KubeStatusTest, WhatMakesNoSenseIsLeftOut) {
  for (const char* const body :
       {"", "<html>", "[]", R"({"kind":"Pod","reason":"x"})",
        R"({"kind":"Status","code":200,"reason":7,"details":{"causes":{},"retryAfterSeconds":-1}})",
        R"({"kind":"Status","code":18446744073709551615,"details":[]})"}) {
    const Status status = ReadStatus(502, body);
    EXPECT_EQ(status.code, 502) << body;
    EXPECT_EQ(status.reason, "") << body;
    EXPECT_FALSE(status.retry_after) << body;
  }
}

TEST(LineReaderTest, LinesComeInWholeHoweverTheyArrive) {
  LineReader reader(10);
  std::string seen;
  const auto take = [&](std::string_view line) {
    seen += std::string(line) + "|";
    return line != "end";
  };
  EXPECT_TRUE(reader.Take("one\ntw", take));
  EXPECT_TRUE(reader.Take("o\n\n \r\nthr", take));
  EXPECT_TRUE(reader.Take("ee is far too long", take));
  EXPECT_TRUE(reader.Take(" and longer\nfour\n", take));
  EXPECT_FALSE(reader.Take("end\nmore\n", take));
  EXPECT_EQ(seen, "one|two|four|end|");
  EXPECT_EQ(reader.left_out(), 1U);
}

TEST(KubeEventTest, AnEventHasAllThatServersAskFor) {
  const EventNote event{.regarding = {.kind = "Node", .key = {"", "n1"}, .uid = "u1", .field_path = {}},
                        .instance = "n1",
                        .action = "Publishing",
                        .reason = "TopologyTooLarge",
                        .note = "a note\nof two lines",
                        .warning = true};
  EXPECT_EQ(PathOf(TargetOf(event)), "/apis/events.k8s.io/v1/namespaces/kube-system/events");
  const WallTime now(std::chrono::seconds(1'700'000'000));
  EXPECT_EQ(FormatEvent(event, now),
            R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"n1.17979cfe362a0000",)"
            R"("namespace":"kube-system"},"eventTime":"2023-11-14T22:13:20.000000Z","reportingController":)"
            R"("berth.dev/berthd","reportingInstance":"n1","action":"Publishing","reason":"TopologyTooLarge",)"
            R"("note":"a note\\x0aof two lines","type":"Warning","regarding":{"apiVersion":"v1","kind":"Node",)"
            R"("name":"n1","uid":"u1"}})");
}

}  // namespace
}  // namespace berth::kube
