#include "berth/json_path.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

const codec::Json& SomePods() {
  static const codec::Json data = *codec::ParseJson(R"({"pods": [
    {"name": "web", "phase": "Running", "restarts": 3, "ready": true, "labels": {"app": "web", "a.b/c": "x"},
     "containers": [{"name": "app", "cpus": "2-3"}, {"name": "proxy", "cpus": "0-1"}]},
    {"name": "db", "phase": "Failed", "restarts": 12, "ready": false, "containers": [{"name": "app"}]},
    {"name": "job", "phase": "Running", "restarts": 0, "ready": false, "containers": []}],
    "count": 3, "none": null})",
                                                    "test");
  return data;
}

std::string Apply(std::string_view text) {
  const auto path = JsonPath::Parse(text);
  EXPECT_TRUE(path) << text << ": " << path.error().message;
  if (!path) return "";
  std::string out = *path->Apply(SomePods());
  EXPECT_TRUE(out.ends_with('\n'));
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

TEST(JsonPathTest, PathsFindValues) {
  EXPECT_EQ(Apply("{.count}"), "3");
  EXPECT_EQ(Apply(".count"), "3") << "a path alone needs no braces";
  EXPECT_EQ(Apply("{$.pods[0].name}"), "web");
  EXPECT_EQ(Apply("{.pods[-1].name}"), "job");
  EXPECT_EQ(Apply("{.pods[*].name}"), "web db job");
  EXPECT_EQ(Apply("{.pods[1:].name}"), "db job");
  EXPECT_EQ(Apply("{.pods[0:2].name}"), "web db");
  EXPECT_EQ(Apply("{.pods[0].labels.*}"), "web x");
  EXPECT_EQ(Apply("{.pods[0].labels['a.b/c']}"), "x");
  EXPECT_EQ(Apply("{.pods[0].labels.a\\.b/c}"), "x");
  EXPECT_EQ(Apply("{.pods[*].containers[*].cpus}"), "2-3 0-1") << "what is not there is nothing";
  EXPECT_EQ(Apply("{.pods[0].containers[1]}"), R"({"name":"proxy","cpus":"0-1"})");
  EXPECT_EQ(Apply("{.none}"), "null");
  EXPECT_EQ(Apply("{.pods[7].name}{.nothing.at.all}{.count.deeper}{.count[0]}"), "");
}

TEST(JsonPathTest, FiltersChoose) {
  EXPECT_EQ(Apply(R"({.pods[?(@.phase=="Running")].name})"), "web job");
  EXPECT_EQ(Apply("{.pods[?(@.phase != 'Running')].name}"), "db");
  EXPECT_EQ(Apply("{.pods[?(@.restarts>2)].name}"), "web db");
  EXPECT_EQ(Apply("{.pods[?(@.restarts<=3)].name}"), "web job");
  EXPECT_EQ(Apply("{.pods[?(@.ready==true)].name}"), "web");
  EXPECT_EQ(Apply("{.pods[?(@.labels)].name}"), "web") << "whether it is there";
  EXPECT_EQ(Apply("{.pods[?(@.containers[*].name=='proxy')].name}"), "web");
  EXPECT_EQ(Apply("{.pods[?(@.restarts=='3')].name}"), "") << "a text is no number";
}

TEST(JsonPathTest, RangesRepeatAndTextStays) {
  EXPECT_EQ(Apply(R"({range .pods[*]}{.name}{"\t"}{.phase}{"\n"}{end})"), "web\tRunning\ndb\tFailed\njob\tRunning");
  EXPECT_EQ(Apply("{range .pods[0:2]}<{range .containers[*]}{.name},{end}>{end}!"), "<app,proxy,><app,>!");
  EXPECT_EQ(Apply("pods: {.count}"), "pods: 3");
}

TEST(JsonPathTest, WhatMakesNoSenseIsSaidWithItsPlace) {
  for (const char* wrong :
       {"", "{.a", "{.a]}", "{[}", "{.a[x]}", "{.a[1}", "{..a}", "{range .a}{.b}", "{end}", "{'x}", "{.a[?(.b)]}",
        "{.a[?(@.b==)]}", "{.a[?(@.b==1]}", "{.a b}", "{.a[99999999999999999999]}", ".a}", "{. x}"})
    EXPECT_FALSE(JsonPath::Parse(wrong)) << wrong;
  EXPECT_EQ("jsonpath, character 6: expected a number, *, 'name' or ?(...)",
            JsonPath::Parse("{.ab[x]}").error().message);
  EXPECT_FALSE(JsonPath::Parse(std::string(5000, 'a')));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "{range .a}";
  EXPECT_FALSE(JsonPath::Parse(deep));
  std::string filters = "{.a";
  for (int i = 0; i < 100; ++i) filters += "[?(@";
  EXPECT_FALSE(JsonPath::Parse(filters));
}

}  // namespace
}  // namespace berth::cli
