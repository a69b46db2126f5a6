// Images by policy, from a registry on the loopback.
#include <gtest/gtest.h>

#include "cri_node.h"
#include "image_registry.h"

namespace berth {
namespace {

using testkit::ImageRegistry;

class DaemonCriImageTest : public testkit::CriNodeTest {
 protected:
  /// Runs a pod to its end and removes it.
  void Once(const std::string& name, const std::string& policy, const std::string& image) {
    Add({.name = name,
         .script = "echo ran",
         .spec = "  restartPolicy: Never\n",
         .container = "    imagePullPolicy: " + policy + "\n",
         .image = image});
    EXPECT_TRUE(berthd->Until(name + " has run", [&] { return Phase(name, "Succeeded"); }));
    EXPECT_EQ("ran\n", WordsOf(name));
    Remove(name);
    EXPECT_TRUE(berthd->Until(name + " is gone", [&] { return Gone(name); }));
  }
};

TEST_F(DaemonCriImageTest, PullsAsThePolicySays) {
  PutRelayBetween();
  ImageRegistry registry(containerd->Dir("images.tar"), berthd->Dir("registry"));
  Start();
  const std::string image = registry.Name("berth/busybox:1");
  Once("missing", "IfNotPresent", image);
  EXPECT_EQ(1U, relay->Count("PullImage"));
  EXPECT_GT(registry.manifests_served(), 0);
  Once("present", "IfNotPresent", image);
  Once("never", "Never", image);
  EXPECT_EQ(1U, relay->Count("PullImage"));
  Once("always", "Always", image);
  EXPECT_EQ(2U, relay->Count("PullImage"));
  registry.Answer(503);
  Once("without", "IfNotPresent", image);
  EXPECT_EQ(2U, relay->Count("PullImage"));
  ExpectNothingLeft();
  EXPECT_EQ(0, berthd->CountEvents("RuntimeWarning")) << berthd->output();
  EXPECT_EQ(0, berthd->CountEvents("RuntimeNotReady")) << berthd->output();
}

TEST_F(DaemonCriImageTest, ARegistryIsToldWhatTheSecretsOfThePodSay) {
  ImageRegistry registry(containerd->Dir("images.tar"), berthd->Dir("registry"));
  registry.Require("somebody", "hunter2");
  Start();
  const std::string image = registry.Name("berth/busybox:1");
  const std::string host = image.substr(0, image.find('/'));
  const auto pod = [&](const std::string& name, const std::string& secrets) {
    Add({.name = name,
         .script = "echo ran",
         .spec = "  restartPolicy: Never\n  imagePullSecrets: [" + secrets + "]\n",
         .container = "    imagePullPolicy: Always\n",
         .image = image});
  };
  pod("stranger", "{name: away}");
  EXPECT_TRUE(berthd->Until("it is told", [&] {
    return berthd->CountEvents("FailedToRetrieveImagePullSecret", "secret \"away\" not found") > 0 &&
           berthd->Get("/v1/events?pod=stranger").dump().find("ErrImagePull") != std::string::npos;
  }));
  berthd->AddPod("key.yaml",
                 "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\ntype: kubernetes.io/dockerconfigjson\n"
                 "stringData:\n  .dockerconfigjson: '{\"auths\": {\"other.test\": {\"username\": \"x\"}, \"" +
                     host + "\": {\"username\": \"somebody\", \"password\": \"hunter2\"}}}'\n");
  pod("known", "{name: key}");
  EXPECT_TRUE(berthd->Until("it has run", [&] { return Phase("known", "Succeeded"); }));
  EXPECT_EQ("ran\n", WordsOf("known"));
  EXPECT_EQ(std::string::npos, berthd->output().find("hunter2"));
  EXPECT_EQ(std::string::npos, berthd->Get("/v1/events").dump().find("hunter2"));
  for (const char* const name : {"stranger", "known", "key"}) Remove(name);
  EXPECT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

}  // namespace
}  // namespace berth
