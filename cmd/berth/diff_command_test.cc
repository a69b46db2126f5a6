#include "berth/diff_command.h"

#include <gmock/gmock.h>

#include "manifest/manifest.h"

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Pod Web(const std::string& cpu, const std::string& more = "") {
  const auto parsed = manifest::ParsePods(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n"
      "  - {name: app, image: none, resources: {limits: {cpu: '" +
          cpu + "', memory: 1Gi}}}\n" + more,
      "web.yaml", {});
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? parsed->pods.front() : Pod();
}

TEST(DiffTest, OnlyWhatAPersonWroteIsCompared) {
  Pod on_node = Web("2");
  on_node.name = "web-n1";
  on_node.uid = "1";
  on_node.annotations["kubernetes.io/config.source"] = "file";
  EXPECT_THAT(ManifestDifferences(on_node, Web("2")), IsEmpty());
  on_node.labels["app"] = "web";
  EXPECT_THAT(ManifestDifferences(on_node, Web("2")),
              ElementsAre("metadata: {\"labels\":{\"app\":\"web\"}}, in the manifest nothing"));
}

TEST(DiffTest, WhatIsAnotherIsNamedByItsField) {
  EXPECT_THAT(ManifestDifferences(Web("2"), Web("3")),
              UnorderedElementsAre("spec.containers[0].resources.limits.cpu: 2, in the manifest 3",
                                   "spec.containers[0].resources.requests.cpu: 2, in the manifest 3"));
  EXPECT_THAT(ManifestDifferences(Web("2"), Web("2", "  - {name: side, image: none}\n")).size(), 1U);
}

}  // namespace
}  // namespace berth::cli
