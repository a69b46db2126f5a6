// Names that are made of a generateName.
#include "manifest/made_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "manifest/manifest.h"

namespace berth::manifest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::SizeIs;

std::string PodNamed(const std::string& metadata, const std::string& command = "x") {
  return "{apiVersion: v1, kind: Pod, metadata: {" + metadata + "}, spec: {containers: [{name: a, command: [" +
         command + "]}]}}\n";
}

std::vector<std::string> NamesIn(const std::string& text, const std::string& origin) {
  const auto parsed = ParsePods(text, "f", {.templates = true, .origin = origin});
  if (!parsed) return {parsed.error().message};
  std::vector<std::string> out;
  for (const Pod& pod : parsed->pods) out.push_back(FullName(pod));
  for (const ConfigDocument& document : parsed->documents) out.push_back(document.name);
  return out;
}

TEST(MadeNamesTest, TheSameFileMakesTheSameNamesWhateverItSays) {
  const std::vector<std::string> names = NamesIn(PodNamed("generateName: web-"), "/a.yaml");
  EXPECT_THAT(names, ElementsAre(MatchesRegex("default/web-[0-9a-f]{10}")));
  EXPECT_EQ(NamesIn(PodNamed("generateName: web-", "other"), "/a.yaml"), names);
  EXPECT_EQ(NamesIn(PodNamed("name: first") + "---\n" + PodNamed("generateName: web-"), "/a.yaml")[1], names[0]);
  EXPECT_NE(NamesIn(PodNamed("generateName: web-"), "/b.yaml"), names);
  EXPECT_NE(NamesIn(PodNamed("generateName: web-, namespace: edge"), "/a.yaml")[0].substr(5), names[0].substr(8));
}

TEST(MadeNamesTest, ATextOfNoFileMakesTheSameNamesAsLongAsItIsTheSame) {
  const std::string text = PodNamed("generateName: web-");
  EXPECT_EQ(NamesIn(text, ""), NamesIn(text, ""));
  EXPECT_NE(NamesIn(text, ""), NamesIn(PodNamed("generateName: web-", "other"), ""));
}

TEST(MadeNamesTest, ThoseOfOneFileDiffer) {
  std::string text;
  for (int i = 0; i < 3; ++i) text += PodNamed("generateName: web-") + "---\n";
  text += "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: web-}, data: {}}\n---\n" +
          std::string(
              "{apiVersion: batch/v1, kind: Job, metadata: {generateName: web-}, spec: {template: {spec: "
              "{containers: [{name: a, command: [x]}]}}}}\n---\n"
              "{apiVersion: v1, kind: PodList, items: [{metadata: {generateName: web-}, spec: {containers: "
              "[{name: a, command: [x]}]}}]}");
  std::vector<std::string> names = NamesIn(text, "/a.yaml");
  ASSERT_THAT(names, SizeIs(6)) << names[0];
  EXPECT_THAT(names[3], MatchesRegex("default/web-[0-9a-f]{10}-0")) << "a pod of the Job";
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(MadeNamesTest, ANameCountsWhereThereIsOneAndALongStartIsCut) {
  EXPECT_THAT(NamesIn(PodNamed("name: web, generateName: x-"), ""), ElementsAre("default/web"));
  EXPECT_THAT(NamesIn(PodNamed("name: \"\", generateName: x-"), ""), ElementsAre(MatchesRegex("default/x-[0-9a-f]+")));
  EXPECT_EQ(NamesIn(PodNamed("generateName: " + std::string(100, 'x')), "")[0].size(),
            63 + std::string("default/").size());
}

TEST(MadeNamesTest, WhatCanBeNoStartOfANameIsToldAtItsField) {
  EXPECT_THAT(NamesIn(PodNamed("generateName: Web_"), ""),
              ElementsAre(testing::StartsWith("f: document 1: metadata.generateName: Invalid value: \"Web_0\"")));
  EXPECT_THAT(NamesIn(PodNamed("generateName: Web_"), "")[0], Not(HasSubstr("metadata.name"))) << "told once";
  EXPECT_THAT(NamesIn(PodNamed("generateName: 5"), "")[0],
              HasSubstr("metadata.generateName: Invalid value: 5: expected a string"));
}

TEST(MadeNamesTest, TheNameIsTold) {
  const auto parsed = ParsePods(PodNamed("generateName: web-"), "f", {.origin = "/a.yaml"});
  ASSERT_TRUE(parsed);
  EXPECT_THAT(parsed->warnings, IsEmpty());
  ASSERT_THAT(parsed->made, SizeIs(1));
  EXPECT_EQ(parsed->made[0].where, "f: document 1: metadata.generateName");
  EXPECT_EQ(parsed->made[0].message, "is called \"" + parsed->pods[0].name + "\" here, whenever this file is applied");
}

}  // namespace
}  // namespace berth::manifest
