// Berth's annotations of pods, as manifests are checked for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "manifest/manifest.h"

namespace berth::manifest {
namespace {

using ::testing::HasSubstr;

std::string ProblemOfPod(const std::string& annotation) {
  const auto read = ParsePods(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations: {" + annotation +
          "}\nspec:\n  initContainers: [{name: early, image: i}]\n  containers:\n  - name: main\n    image: i\n"
          "    resources: {requests: {cpu: 1500m}}\n",
      "p.yaml");
  return read ? "" : read.error().message;
}

TEST(PodWishesCheckTest, AnAnnotationThatCannotBeMeantIsRefusedWithItsPathAndTheNearest) {
  EXPECT_EQ(ProblemOfPod("berth.dev/cpus: main=1 exclusive + shared"), "");
  EXPECT_EQ(ProblemOfPod("berth.dev/pool: main=batch"), "");
  EXPECT_THAT(ProblemOfPod("berth.dev/pool: mian=batch"),
              HasSubstr("metadata.annotations[berth.dev/pool]: Invalid value: the pod has no container \"mian\" (did "
                        "you mean \"main\"?)"));
  EXPECT_THAT(
      ProblemOfPod("berth.dev/topology-policy: restrict"),
      HasSubstr("metadata.annotations[berth.dev/topology-policy]: Invalid value: \"restrict\" is not known (did "
                "you mean \"restricted\"?"));
  EXPECT_THAT(
      ProblemOfPod("berth.dev/cpus: mian=1 exclusive"),
      HasSubstr("metadata.annotations[berth.dev/cpus]: Invalid value: the pod has no container \"mian\" (did you "
                "mean \"main\"?)"));
  EXPECT_THAT(ProblemOfPod("berth.dev/cpus: main=2 exclusive"),
              HasSubstr("container \"main\" requests 1500m CPUs: exclusive ones come out of the request, so request at "
                        "least 2"));
  EXPECT_THAT(ProblemOfPod("berth.dev/cpus: 1 exclusive"), HasSubstr("container \"early\" requests 0 CPUs"));
  EXPECT_THAT(ProblemOfPod("berth.dev/cpu-options: end=top"), HasSubstr("annotations[berth.dev/cpu-options]"));
}

TEST(PodWishesCheckTest, AnUnknownAnnotationThatBeginsLikeOurOwnIsToldWithTheNearest) {
  const auto read = ParsePods(
      "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  annotations: {berth.dev/cpu: shared, berth.dev/pool: a, "
      "berth.dev/keep-cpus: main=1, berth.dev/something: x, example.com/cpu: z}\n"
      "spec: {containers: [{name: main, image: i, command: [a]}]}\n",
      "p.yaml");
  ASSERT_TRUE(read) << read.error().message;
  std::vector<std::string> told;
  for (const Warning& warning : read->warnings)
    if (warning.where.contains("annotations")) told.push_back(warning.where + ": " + warning.message);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_THAT(told[0], HasSubstr("metadata.annotations[berth.dev/cpu]: unknown annotation, ignored; did you mean "
                                 "\"berth.dev/cpus\"?"));
  EXPECT_THAT(told[1], HasSubstr("metadata.annotations[berth.dev/something]: unknown annotation, ignored"));
}

}  // namespace
}  // namespace berth::manifest
