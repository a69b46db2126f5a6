#include "objects.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/codec/codec.h"
#include "run_program.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

constexpr const char* kFolder = "packaging/kubernetes/";

/// Scalars as texts, which their readers take as well.
codec::Json ToJson(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  codec::Json out = node.IsMap() ? codec::Json::object() : codec::Json::array();
  for (const auto& part : node)
    if (node.IsMap())
      out[part.first.Scalar()] = ToJson(part.second);
    else
      out.push_back(ToJson(part));
  return out;
}

/// As an API server reads it.
codec::Json WithoutNulls(const codec::Json& json) {
  if (!json.is_structured()) return json;
  codec::Json out = json.is_object() ? codec::Json::object() : codec::Json::array();
  for (const auto& [key, part] : json.items()) {
    if (part.is_null()) continue;
    if (json.is_object())
      out[key] = WithoutNulls(part);
    else
      out.push_back(WithoutNulls(part));
  }
  return out;
}

}  // namespace

Objects Printed(const std::string& folder) {
  const Ran ran = RunProgram(testkit::SourcePath("tools/check_chart"), {"--print", folder});
  EXPECT_EQ(0, ran.status) << ran.err;
  return YAML::LoadAll(ran.out);
}

YAML::Node Patched(const YAML::Node& object, const std::string& file) {
  const auto patch = codec::ParseJson(testkit::ReadText(testkit::SourcePath(kFolder + file)), file);
  EXPECT_TRUE(patch) << patch.error().message;
  if (!patch) return {};
  return YAML::Load(WithoutNulls(ToJson(object).patch(*patch)).dump());
}

YAML::Node ObjectIn(const Objects& objects, std::string_view kind, std::string_view name) {
  for (const YAML::Node& object : objects)
    if (object["kind"].as<std::string>() == kind && object["metadata"]["name"].as<std::string>() == name) return object;
  ADD_FAILURE() << "there is no " << kind << " " << name;
  return {};
}

void ExpectOnly(const YAML::Node& node, const std::string& what, std::initializer_list<std::string_view> fields) {
  for (const auto& field : node)
    EXPECT_TRUE(std::ranges::find(fields, field.first.as<std::string>()) != fields.end())
        << what << " has " << field.first.as<std::string>() << ", which nothing here does as a kubelet would";
}

}  // namespace berth
