#include "objects.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "codec/codec.h"
#include "process.h"
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

/// Documents that are not empty.
void Append(const std::vector<YAML::Node>& documents, Objects& out) {
  for (const YAML::Node& document : documents)
    if (document.IsMap()) out.push_back(document);
}

}  // namespace

Objects Kustomized(const std::string& folder) {
  const std::string path = testkit::SourcePath(kFolder + folder + "/");
  const YAML::Node rules = YAML::LoadFile(path + "kustomization.yaml");
  ExpectOnly(rules, folder + "/kustomization.yaml",
             {"apiVersion", "kind", "namespace", "namePrefix", "resources", "configMapGenerator"});
  Objects out;
  for (const YAML::Node& file : rules["resources"]) Append(YAML::LoadAllFromFile(path + file.as<std::string>()), out);
  for (const YAML::Node& made : rules["configMapGenerator"]) {
    ExpectOnly(made, "configMapGenerator", {"name", "namespace", "files"});
    YAML::Node& map = out.emplace_back();
    map["kind"] = "ConfigMap";
    map["metadata"]["name"] = made["name"].as<std::string>();
    for (const YAML::Node& file : made["files"])
      map["data"][file.as<std::string>()] = testkit::ReadText(path + file.as<std::string>());
  }
  for (YAML::Node& object : out) {
    if (object["kind"].as<std::string>() == "Namespace") continue;
    if (rules["namespace"]) object["metadata"]["namespace"] = rules["namespace"].as<std::string>();
    if (rules["namePrefix"])
      object["metadata"]["name"] = rules["namePrefix"].as<std::string>() + object["metadata"]["name"].as<std::string>();
  }
  return out;
}

Objects FromChart(const std::string& folder) {
  const Ran ran = RunProgram(testkit::SourcePath("tools/check_chart"), {"--print", folder});
  EXPECT_EQ(0, ran.status) << ran.err;
  Objects out;
  Append(YAML::LoadAll(ran.out), out);
  return out;
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
