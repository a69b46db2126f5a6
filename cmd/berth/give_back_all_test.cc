#include "berth/give_back_all.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "api/codec/codec.h"
#include "kubernetes/kube_client/fake_api_test.h"
#include "testing/fixtures.h"

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kPath = "/apis/apps/v1/namespaces/n/daemonsets/berth";
const GiveBackAllOptions kOptions{.namespace_ = "n", .daemon_set = "berth", .patch = R"([{"op":"test"}])"};

struct Counts {
  int generation = 2;
  int observed = 2;
  int updated = 0;
  int available = 0;
};
/// Of three nodes.
std::string SetText(const std::string& container, const Counts& counts) {
  const codec::Json out = {
      {"apiVersion", "apps/v1"},
      {"kind", "DaemonSet"},
      {"metadata", {{"name", "berth"}, {"namespace", "n"}, {"generation", counts.generation}}},
      {"spec",
       {{"template", {{"spec", {{"containers", codec::Json::array({codec::Json::object({{"name", container}})})}}}}}}},
      {"status",
       {{"observedGeneration", counts.observed},
        {"desiredNumberScheduled", 3},
        {"updatedNumberScheduled", counts.updated},
        {"numberAvailable", counts.available}}}};
  return kube::JsonAnswer(200, out.dump());
}

struct GiveBackAllTest : testing::Test {
  /// With as many pauses as there are answers, but for the patch.
  Result<void> Run(std::vector<std::string> answers) {
    api_.reset();  // it may still be sending one of those
    answers_ = std::move(answers);
    api_ = std::make_unique<kube::FakeApi>([this](const kube::Asked& asked, int, int fd) {
      const bool patches = asked.line.starts_with("PATCH");
      testkit::SendAll(fd, patches ? patch_answer_ : answers_[std::min(looks_++, answers_.size() - 1)]);
    });
    const auto client = kube::Client::Make(api_->access(), {.retries = 0});
    EXPECT_TRUE(client);
    std::size_t left = answers_.size() - 1;
    return GiveBackAll(**client, kOptions, [&] { return left-- > 0; }, out_);
  }

  std::string patch_answer_ = SetText("stay", {.generation = 3});
  std::vector<std::string> answers_;
  std::size_t looks_ = 0;
  std::unique_ptr<kube::FakeApi> api_;
  std::ostringstream out_;
};

TEST_F(GiveBackAllTest, ItPatchesOnceAndEndsWhenEveryNodesPodIsTheNewOne) {
  const auto done = Run({SetText("berthd", {.updated = 3, .available = 3}),
                         SetText("stay", {.generation = 3, .observed = 2, .updated = 3, .available = 3}),
                         SetText("stay", {.generation = 3, .observed = 3, .updated = 1, .available = 3}),
                         SetText("stay", {.generation = 3, .observed = 3, .updated = 3, .available = 2}),
                         SetText("stay", {.generation = 3, .observed = 3, .updated = 3, .available = 3})});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(api_->lines(), ElementsAre("GET " + kPath, "PATCH " + kPath + "?fieldManager=berth", "GET " + kPath,
                                         "GET " + kPath, "GET " + kPath, "GET " + kPath));
  EXPECT_EQ(kOptions.patch, api_->asked()[1].body);
  EXPECT_EQ("0 of 3 nodes are given back\n1 of 3 nodes are given back\n2 of 3 nodes are given back\n", out_.str());
}

TEST_F(GiveBackAllTest, WhatWasBegunGoesOnAndWhatIsGoneIsDone) {
  EXPECT_TRUE(Run({SetText("stay", {.updated = 3, .available = 3})}));
  EXPECT_THAT(api_->lines(), ElementsAre("GET " + kPath));
  EXPECT_TRUE(Run({kube::JsonAnswer(404, kube::StatusText(404, "NotFound"))}));
}

TEST_F(GiveBackAllTest, AServerThatDoesNotAnswerIsAskedAgain) {
  patch_answer_ = kube::JsonAnswer(409, kube::StatusText(409, "Conflict"));
  const auto done = Run({kube::JsonAnswer(503, kube::StatusText(503, "ServiceUnavailable")), SetText("berthd", {}),
                         SetText("stay", {.updated = 3, .available = 3})});
  EXPECT_TRUE(done) << done.error().message;
}

TEST_F(GiveBackAllTest, WhoMayNotAndWhatTakesTooLongIsSaid) {
  const auto forbidden = Run({kube::JsonAnswer(403, kube::StatusText(403, "Forbidden"))});
  ASSERT_FALSE(forbidden);
  EXPECT_EQ(Code::kPermission, forbidden.error().code);
  patch_answer_ = kube::JsonAnswer(422, kube::StatusText(422, "Invalid"));
  const auto invalid = Run({SetText("berthd", {})});
  ASSERT_FALSE(invalid);
  EXPECT_EQ(Code::kInvalid, invalid.error().code);
  const auto late = Run({SetText("stay", {.updated = 2, .available = 2})});
  ASSERT_FALSE(late);
  EXPECT_EQ(Code::kTimeout, late.error().code);
  EXPECT_THAT(late.error().message, HasSubstr("2 of 3 nodes are given back; see kubectl -n n logs daemonset/berth"));
}

}  // namespace
}  // namespace berth::cli
