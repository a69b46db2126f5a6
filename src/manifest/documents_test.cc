// ConfigMaps and Secrets, and the volumes made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "manifest/manifest.h"

namespace berth::manifest {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

ConfigDocument One(const std::string& text) {
  const Result<ParsedPods> parsed = ParsePods(text, "f");
  if (parsed && parsed->documents.size() == 1) return parsed->documents.front();
  ADD_FAILURE() << (parsed ? "not one document" : parsed.error().message);
  return {};
}

std::string Wrong(const std::string& text) {
  const Result<ParsedPods> parsed = ParsePods(text, "f");
  return parsed ? "accepted" : parsed.error().message;
}

using Values = std::map<std::string, std::string>;

TEST(DocumentsTest, AConfigMapHasTextAndBytes) {
  const ConfigDocument document = One(R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: app, namespace: shop, labels: {a: b}}
immutable: true
data: {color: blue, app.conf: "a=1\n"}
binaryData: {logo: "AAH/"}
)");
  EXPECT_EQ(NameOf(document), "ConfigMap shop/app");
  EXPECT_EQ(document.data, (Values{{"color", "blue"}, {"app.conf", "a=1\n"}}));
  EXPECT_EQ(document.binary, (Values{{"logo", std::string("\0\1\xff", 3)}}));
  EXPECT_TRUE(document.immutable);
}

TEST(DocumentsTest, TextOfASecretCountsBeforeItsBase64) {
  const ConfigDocument document = One(R"({apiVersion: v1, kind: Secret, metadata: {name: key}, type: Opaque,
      data: {a: "b25l", b: "dHdv"}, stringData: {b: new}})");
  EXPECT_EQ(NameOf(document), "Secret default/key");
  EXPECT_EQ(document.data, (Values{{"a", "one"}, {"b", "new"}}));
  EXPECT_EQ(document.type, "Opaque");
}

TEST(DocumentsTest, ListsMayHoldThemBesidePods) {
  const Result<ParsedPods> parsed = ParsePods(R"({apiVersion: v1, kind: List, items: [
      {apiVersion: v1, kind: ConfigMap, metadata: {name: c}},
      {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: a}]}}]}
---
{apiVersion: v1, kind: SecretList, items: [{metadata: {name: s}}]}
)",
                                              "f");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_THAT(parsed->documents, SizeIs(2));
  EXPECT_THAT(parsed->pods, SizeIs(1));
}

TEST(DocumentsTest, KeysAreNamesOfFiles) {
  for (const char* key : {"..", "../a", "a/b", "..data", "", ".", "a b"})
    EXPECT_THAT(
        Wrong(std::string("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {\"") + key + "\": x}}"),
        HasSubstr("data["))
        << key;
}

TEST(DocumentsTest, NoMessageQuotesASecret) {
  const std::string head = "{apiVersion: v1, kind: Secret, metadata: {name: s}, ";
  EXPECT_THAT(Wrong(head + "data: {a: \"hunter2!\"}}"),
              AllOf(HasSubstr("write plain text into stringData"), Not(HasSubstr("hunter"))));
  EXPECT_THAT(Wrong(head + "stringData: {a: 4711}}"), AllOf(HasSubstr("put it in quotes"), Not(HasSubstr("4711"))));
  EXPECT_THAT(Wrong(R"({"kind": "Secret", "stringData": {"a": hunter2}})"), Not(HasSubstr("hunter")));
}

TEST(DocumentsTest, TheyAreBoundedAndUnique) {
  const std::string big(600'000, 'x');
  EXPECT_THAT(Wrong(R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": ")" + big +
                    R"(", "b": ")" + big + "\"}}"),
              HasSubstr("Too long: 1200000 bytes"));
  const std::string one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n---\n";
  EXPECT_THAT(Wrong(one + one),
              HasSubstr("f: document 2: ConfigMap default/c is given more than once, first in document 1; "));
  EXPECT_THAT(Wrong("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: b}, binaryData: {a: \"\"}}"),
              HasSubstr("binaryData[a]: Invalid value: the key is in data too"));
}

std::string WrongVolume(const std::string& volume) {
  return Wrong("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, " + volume +
               "}], containers: [{name: a, image: a}]}}");
}

TEST(DocumentsTest, FilesOfAVolumeStayInIt) {
  for (const char* path : {"/etc/x", "../x", "a/../../x", "..data", ""})
    EXPECT_THAT(WrongVolume(std::string("configMap: {name: c, items: [{key: k, path: \"") + path + "\"}]}"),
                HasSubstr("items[0].path: "))
        << path;
  EXPECT_EQ(WrongVolume("configMap: {name: c, items: [{key: k, path: a/b}]}"), "accepted");
  EXPECT_THAT(
      WrongVolume("projected: {sources: [{configMap: {name: c, items: [{key: k, path: a}]}}, {secret: {name: s, "
                  "items: [{key: k, path: a}]}}]}"),
      HasSubstr("the path is given to two files"));
}

TEST(DocumentsTest, AVolumeMayNameADocumentOfANameThatNoneCanHave) {
  for (const std::string& name : {std::string("My_Config"), std::string("a/b"), std::string(300, 'a')}) {
    EXPECT_EQ(WrongVolume("configMap: {name: " + name + "}"), "accepted");
    EXPECT_EQ(WrongVolume("secret: {secretName: " + name + "}"), "accepted");
    EXPECT_EQ(WrongVolume("projected: {sources: [{configMap: {name: " + name + "}}, {secret: {name: " + name + "}}]}"),
              "accepted");
  }
  EXPECT_THAT(WrongVolume("configMap: {optional: true}"),
              HasSubstr("spec.volumes[0].configMap.name: Required value: name a ConfigMap"));
  EXPECT_THAT(WrongVolume("secret: {secretName: \"\"}"),
              HasSubstr("spec.volumes[0].secret.secretName: Required value: name a Secret"));
  EXPECT_THAT(WrongVolume("projected: {sources: [{secret: {}}]}"),
              HasSubstr("spec.volumes[0].projected.sources[0].secret.name: Required value: name a Secret"));
}

TEST(DocumentsTest, ModesAreOctalOrDecimal) {
  const auto mode = [](const std::string& text) {
    const Result<ParsedPods> parsed = ParsePods(
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, secret: {secretName: s, "
        "defaultMode: " +
            text + "}}], containers: [{name: a, image: a}]}}",
        "f");
    return parsed ? parsed->pods.at(0).volumes.at(0).file_mode.value_or(-1) : -2;
  };
  EXPECT_EQ(mode("0400"), 0400);
  EXPECT_EQ(mode("0o640"), 0640);
  EXPECT_EQ(mode("420"), 0644);
  EXPECT_EQ(mode("0"), 0);
  for (const char* wrong : {"0800", "1000", "-1", "\"0400\"", "7.5"}) EXPECT_EQ(mode(wrong), -2) << wrong;
}

TEST(DocumentsTest, FilesOfTheDownwardApiNameWhatIsSaid) {
  EXPECT_THAT(WrongVolume("downwardAPI: {items: [{path: a, fieldRef: {fieldPath: status.podIP}}]}"),
              HasSubstr("fieldRef.fieldPath: Unsupported value"));
  EXPECT_THAT(WrongVolume("downwardAPI: {items: [{path: a, resourceFieldRef: {resource: limits.cpu}}]}"),
              HasSubstr("containerName: Required value"));
  EXPECT_THAT(WrongVolume("downwardAPI: {items: [{path: a}]}"), HasSubstr("give one of fieldRef and resourceFieldRef"));
  EXPECT_EQ(WrongVolume("downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.labels}}, {path: b, "
                        "resourceFieldRef: {containerName: a, resource: limits.cpu}}]}"),
            "accepted");
}

}  // namespace
}  // namespace berth::manifest
