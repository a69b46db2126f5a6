#include "rpc/ttrpc/envelope.h"

#include <gtest/gtest.h>

#include <random>

namespace berth::ttrpc {
namespace {

TEST(EnvelopeTest, ARequestIsWrittenAsOthersWriteIt) {
  const Request request{.service = "nri.pkg.api.v1alpha1.Runtime",
                        .method = "RegisterPlugin",
                        .payload =
                            "\x0a\x04numa\x12\x02"
                            "10"};
  EXPECT_EQ(
      "\x0a\x1cnri.pkg.api.v1alpha1.Runtime\x12\x0eRegisterPlugin\x1a\x0a\x0a\x04numa\x12\x02"
      "10",
      Encode(request));
}

TEST(EnvelopeTest, RequestsAndRepliesComeBackAsTheyWere) {
  const Request requests[] = {
      {.service = "", .method = "", .payload = ""},
      {.service = "s", .method = "M", .payload = std::string(70'000, '\0'), .timeout = std::chrono::nanoseconds(1)},
      {.service = "s", .method = "M", .payload = "p", .timeout = std::chrono::hours(24 * 365)}};
  for (const Request& request : requests) EXPECT_TRUE(request == *DecodeRequest(Encode(request)));
  const Reply replies[] = {"", "text", std::string(300, '\xff'),
                           std::unexpected(grpc::Status(grpc::StatusCode::kNotFound, "no such thing")),
                           std::unexpected(grpc::Status(grpc::StatusCode::kUnknown, ""))};
  for (const Reply& reply : replies) EXPECT_TRUE(reply == *DecodeReply(Encode(reply)));
}

TEST(EnvelopeTest, AReplyWithoutAnythingIsSuccessAndEmpty) {
  EXPECT_EQ("", Encode(Reply("")));
  EXPECT_EQ(Reply(""), *DecodeReply(""));
}

TEST(EnvelopeTest, FieldsThatAreNotKnownArePassedOver) {
  // metadata (5), and numbers, eight and four bytes of fields that nobody has
  const std::string extra("\x2a\x03xyz\x30\x96\x01\x39\0\0\0\0\0\0\0\0\x45\0\0\0\0", 22);
  const Request want{.service = "s", .method = "M", .payload = "p"};
  EXPECT_EQ(want, *DecodeRequest(extra + Encode(want) + extra));
}

TEST(EnvelopeTest, AnErrorStaysAnErrorWhateverItsNumber) {
  for (const std::string number : {"\x63", "\x80\x80\x80\x80\x10", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}) {
    const std::string status = "\x08" + number;
    const auto reply = DecodeReply("\x0a" + std::string(1, static_cast<char>(status.size())) + status);
    ASSERT_TRUE(reply);
    ASSERT_FALSE(*reply);
    EXPECT_EQ(grpc::StatusCode::kUnknown, reply->error().code);
  }
}

TEST(EnvelopeTest, ATimeoutThatIsNoneIsNone) {
  EXPECT_FALSE(DecodeRequest("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")->timeout);
  EXPECT_FALSE(DecodeRequest(std::string("\x20\0", 2))->timeout);
}

TEST(EnvelopeTest, WhatIsCutOffInAFieldIsNoMessage) {
  const Request request{
      .service = "service", .method = "Method", .payload = "payload", .timeout = std::chrono::seconds(2)};
  const std::string bytes = Encode(request);
  int refused = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto read = DecodeRequest(bytes.substr(0, size));
    if (read) continue;  // cut between two fields
    ++refused;
    EXPECT_EQ(Code::kInvalid, read.error().code);
  }
  EXPECT_EQ(static_cast<int>(bytes.size()) - 4, refused);
}

TEST(EnvelopeTest, NonsenseIsRefusedOrReadAndNeverMore) {
  for (std::uint32_t seed = 1; seed <= 5000; ++seed) {
    std::mt19937 random(seed);
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 3 == 0 ? random() : random() % 48);
    const auto request = DecodeRequest(bytes);
    EXPECT_TRUE(!request || request->payload.size() <= bytes.size());
    const auto reply = DecodeReply(bytes);
    EXPECT_TRUE(!reply || *reply || reply->error().code != grpc::StatusCode::kOk) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::ttrpc
