// Pods from staticPodURL on a real node.
#include <gtest/gtest.h>

#include <string>

#include "api/local_api/api_client.h"
#include "daemon_fixture.h"
#include "testing/web_page.h"

namespace berth::testkit {
namespace {

struct DaemonUrlTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    node.Configure("staticPodURL: " + page.url() + "\nhttpCheckFrequency: 300ms\n");
  }
  DaemonFixture node;
  WebPage page;
};

TEST_F(DaemonUrlTest, PodsOfTheUrlComeAndGoWithIt) {
  page.Answer(200, SpinnerManifest("far", "1"));
  node.AddPod("near.yaml", SpinnerManifest("near", ""));
  node.Start();
  ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("far") && node.Runs("near"); }));
  const codec::Json pod = node.PodNamed("far");
  EXPECT_EQ(pod.value("source", ""), "http");
  EXPECT_EQ(pod.value("file", ""), page.url());
  const auto removed =
      api::Call(node.socket(), "DELETE", "/v1/pods/default/" + pod.value("name", ""), "", std::chrono::seconds(20));
  ASSERT_FALSE(removed);
  EXPECT_NE(removed.error().message.find("comes from " + page.url()), std::string::npos) << removed.error().message;

  page.Answer(200, "apiVersion: v1\nkind: PodList\nitems: []\n");
  ASSERT_TRUE(node.Until("it ends", [&] { return node.PodNamed("far").is_null(); }));
  EXPECT_TRUE(node.Runs("near"));
}

TEST_F(DaemonUrlTest, AFileWithTheNameOfAPodThatRunsIsIgnoredAlsoAfterARestart) {
  page.Answer(200, SpinnerManifest("far", "1"));
  node.Start();
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("far"); }));
  const auto pids = node.Pids();
  node.AddPod("far.yaml", SpinnerManifest("far", ""));
  const auto told = [&] { return node.CountEvents("FailedValidation", "because " + page.url() + " holds it too") > 0; };
  ASSERT_TRUE(node.Until("the file is named", told));
  EXPECT_EQ(node.Pids(), pids);
  node.Kill();
  node.Start();
  ASSERT_TRUE(node.Until("the file is named again", told));
  EXPECT_EQ(node.Pids(), pids);
  const auto file = [&] {
    const codec::Json pod = node.PodNamed("far");
    return pod.is_null() ? "" : pod.value("file", "");
  };
  EXPECT_TRUE(node.Until("it is the URL's", [&] { return file() == page.url(); }));

  page.Answer(200, "apiVersion: v1\nkind: PodList\nitems: []\n");
  EXPECT_TRUE(
      node.Until("the other one runs", [&] { return file() == node.Dir("pods/far.yaml") && node.Runs("far"); }));
}

TEST_F(DaemonUrlTest, AServerThatIsAwayTakesNoPodAway) {
  page.Answer(200, SpinnerManifest("far", "1"));
  node.Start();
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("far"); }));
  const auto pids = node.Pids();
  page.Answer(503, "");
  ASSERT_TRUE(node.Until("it is told", [&] { return node.CountEvents("FailedValidation", "status 503") > 0; }));
  EXPECT_EQ(node.Pids(), pids);

  node.Kill();
  node.Start();  // the ledger knows the pod, no source does
  ASSERT_TRUE(node.Until("it is told", [&] { return node.CountEvents("FailedValidation", "status 503") > 0; }));
  EXPECT_EQ(node.Pids(), pids);
  page.Answer(200, SpinnerManifest("far", "1"));
  const int before = page.requests();
  ASSERT_TRUE(node.Until("it was asked", [&] { return page.requests() > before + 1; }));
  EXPECT_EQ(node.Pids(), pids);
  EXPECT_TRUE(node.Runs("far"));
}

TEST_F(DaemonUrlTest, AUrlThatCannotBeUsedIsSaidAtTheStart) {
  node.Configure("staticPodURL: ftp://nowhere/pods\n");
  const DaemonFixture::Outcome outcome = node.RunToEnd();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("staticPodURL: it is no http or https URL"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace berth::testkit
