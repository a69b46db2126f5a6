#include "berth/pod_name.h"

#include <gtest/gtest.h>

#include "berth/age.h"
#include "berth/follow.h"
#include "berth/nearest_word.h"

namespace berth::cli {
namespace {

PodList Pods(const std::vector<std::string>& names) {
  PodList out;
  for (const std::string& name : names) {
    const std::size_t slash = name.find('/');
    PodView pod;
    pod.namespace_ = name.substr(0, slash);
    pod.name = name.substr(slash + 1);
    out.pods.push_back(std::make_shared<const PodView>(std::move(pod)));
  }
  return out;
}

/// The full name that was picked, or the message.
std::string Pick(const std::vector<std::string>& pods, const std::string& given) {
  const auto pod = PickPod(Pods(pods), given, "n1");
  return pod ? FullName(**pod) : pod.error().message;
}

TEST(PickPodTest, TakesExactNamesBeforeBeginnings) {
  const std::vector<std::string> pods = {"default/web-n1", "default/web-db-n1", "edge/cache-n1"};
  EXPECT_EQ("default/web-n1", Pick(pods, "web"));
  EXPECT_EQ("default/web-n1", Pick(pods, "web-n1"));
  EXPECT_EQ("default/web-n1", Pick(pods, "default/web"));
  EXPECT_EQ("default/web-db-n1", Pick(pods, "web-d"));
  EXPECT_EQ("edge/cache-n1", Pick(pods, "edge/"));
}

TEST(PickPodTest, AsksForMoreWhenSeveralFit) {
  EXPECT_EQ("'web' may be any of default/web-n1, edge/web-n1; give more of the name, or NAMESPACE/NAME",
            Pick({"default/web-n1", "edge/web-n1"}, "web"));
  EXPECT_EQ("'a' may be any of d/a1, d/a2, d/a3, d/a4, d/a5, and 2 more; give more of the name, or NAMESPACE/NAME",
            Pick({"d/a1", "d/a2", "d/a3", "d/a4", "d/a5", "d/a6", "d/a7"}, "a"));
}

TEST(PickPodTest, SuggestsTheNearestName) {
  EXPECT_EQ("no pod 'wbe' on this node, did you mean web?", Pick({"default/web-n1"}, "wbe"));
  EXPECT_EQ("no pod 'zzz' on this node; 'berth pods' lists them", Pick({"default/web-n1"}, "zzz"));
  EXPECT_EQ("no pod '' on this node; 'berth pods' lists them", Pick({"default/web-n1"}, ""));
}

TEST(PickPodTest, WhatIsBeforeTheSlashMayBeWrong) {
  EXPECT_EQ("no pod 'pod/web' on this node, did you mean default/web-n1?", Pick({"default/web-n1"}, "pod/web"));
  EXPECT_EQ("no pod 'edge/web' on this node; 'berth pods' lists them",
            Pick({"prod/web-n1", "test/web-n1"}, "edge/web"));
}

TEST(PickPodTest, OfANamespaceOnlyItsPodsAreMeant) {
  const auto pick = [](const std::vector<std::string>& pods, const std::string& given) {
    const auto pod = PickPodOf(Pods(pods), given, "edge", "n1");
    return pod ? FullName(**pod) : pod.error().message;
  };
  EXPECT_EQ("edge/web-n1", pick({"default/web-n1", "edge/web-n1"}, "web"));
  EXPECT_EQ("no pod 'web' in namespace edge, did you mean default/web-n1?", pick({"default/web-n1"}, "web"));
  EXPECT_EQ("no pod 'web' in namespace edge; 'berth pods -n edge' lists them", pick({"edge/db-n1"}, "web"));
}

/// The full name of the pod that is changed, or the message.
std::string PickChanged(const std::vector<std::string>& pods, const std::string& given,
                        const std::string& namespace_ = "") {
  const auto wanted = ParsePodToChange(given, namespace_);
  if (!wanted) return wanted.error().message;
  const auto pod = PickPodToChange(Pods(pods), *wanted, "n1");
  return pod ? FullName(**pod) : pod.error().message;
}

TEST(PickPodToChangeTest, TakesWholeNamesOfOneNamespace) {
  const std::vector<std::string> pods = {"default/webserver-n1", "edge/web-n1", "edge/cache"};
  EXPECT_EQ("default/webserver-n1", PickChanged(pods, "webserver"));
  EXPECT_EQ("default/webserver-n1", PickChanged(pods, "webserver-n1"));
  EXPECT_EQ("edge/web-n1", PickChanged(pods, "web", "edge"));
  EXPECT_EQ("edge/web-n1", PickChanged(pods, "edge/web-n1"));
  EXPECT_EQ("edge/cache", PickChanged(pods, "edge/cache", "edge"));
  EXPECT_EQ("'edge/web' is not of namespace lab; give either NAMESPACE/NAME or -n NAMESPACE",
            PickChanged(pods, "edge/web", "lab"));
}

TEST(PickPodToChangeTest, NamesWhatWasPerhapsMeantAndTakesNothing) {
  const std::string tail = "? What changes a pod takes its whole name, of another namespace with -n";
  EXPECT_EQ("no pod 'web' in namespace default; did you mean default/webserver-n1" + tail,
            PickChanged({"default/webserver-n1"}, "web"));
  EXPECT_EQ("no pod 'web' in namespace default; did you mean edge/web-n1" + tail, PickChanged({"edge/web-n1"}, "web"));
  EXPECT_EQ("no pod 'zzz' on this node; 'berth pods' lists them", PickChanged({"default/web-n1"}, "zzz"));
}

TEST(PickPodToChangeTest, ANameOfTwoPodsIsRefusedAndAManifestMeansItsOwn) {
  const std::vector<std::string> pods = {"default/web-n1", "default/web-n1-n1"};  // of the manifests web and web-n1
  EXPECT_EQ(
      "'web-n1' is pod default/web-n1 and the manifest's name of pod default/web-n1-n1; name the one web, or the "
      "other web-n1-n1",
      PickChanged(pods, "web-n1"));
  EXPECT_EQ("default/api", PickChanged({"default/api", "default/api-n1"}, "api")) << "it has no other name";
  EXPECT_EQ("default/web-n1", PickChanged(pods, "web"));
  EXPECT_EQ("default/web-n1-n1", PickChanged(pods, "web-n1-n1"));
  const PodToChange manifest{.namespace_ = "default", .name = "web-n1", .by_manifest = true};
  EXPECT_EQ("default/web-n1-n1", FullName(**PickPodToChange(Pods(pods), manifest, "n1")));
  const auto other = PickPodToChange(Pods({"default/web-n1"}), manifest, "n1");
  ASSERT_FALSE(other);
  EXPECT_EQ(Code::kInvalid, other.error().code) << "not 'not found': nothing else is tried";
}

TEST(NearestTest, KnowsSlipsFromOtherWords) {
  const std::vector<std::string> words = {"pods", "map", "machine", "describe"};
  EXPECT_EQ("pods", Nearest("pdos", words));
  EXPECT_EQ("pods", Nearest("pod", words));
  EXPECT_EQ("describe", Nearest("descrbie", words));
  EXPECT_EQ("map", Nearest("mp", words));
  EXPECT_EQ("", Nearest("start", words));
  EXPECT_EQ("", Nearest("", {}));
  EXPECT_EQ("", Nearest(std::string(100'000, 'x'), words));
}

TEST(FormatAgeTest, IsShortAndNeverNegative) {
  const WallTime noon = std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} + std::chrono::hours(12);
  EXPECT_EQ("0s", FormatAge(ParseTime("2026-01-02T12:00:00Z"), noon));
  EXPECT_EQ("0s", FormatAge(ParseTime("2026-01-02T12:00:09Z"), noon));
  EXPECT_EQ("119s", FormatAge(ParseTime("2026-01-02T11:58:01Z"), noon));
  EXPECT_EQ("2m", FormatAge(ParseTime("2026-01-02T11:58:00Z"), noon));
  EXPECT_EQ("2h", FormatAge(ParseTime("2026-01-02T10:00:00Z"), noon));
  EXPECT_EQ("3h20m", FormatAge(ParseTime("2026-01-02T08:40:00Z"), noon));
  EXPECT_EQ("12h", FormatAge(ParseTime("2026-01-01T23:30:00Z"), noon));
  EXPECT_EQ("2d", FormatAge(ParseTime("2025-12-31T12:00:00Z"), noon));
  EXPECT_EQ("", FormatAge(std::nullopt, noon));
}

std::vector<Event> Events(const std::vector<int>& seconds) {
  std::vector<Event> out;
  for (const int second : seconds) out.push_back({.time = WallTime(std::chrono::seconds(second))});
  return out;
}

TEST(FollowerTest, GivesEachEventOnce) {
  Follower follower;
  const auto count = [&](const std::vector<int>& seconds) { return follower.New(Events(seconds)).size(); };
  EXPECT_EQ(0U, count({}));
  EXPECT_EQ(3U, count({1, 2, 2}));
  EXPECT_EQ(0U, count({1, 2, 2}));
  EXPECT_EQ(2U, count({2, 2, 2, 3}));  // one more of the newest time, and a newer one
  EXPECT_EQ(1U, count({3, 3}));
  EXPECT_EQ(WallTime(std::chrono::seconds(3)), follower.newest());
}

}  // namespace
}  // namespace berth::cli
