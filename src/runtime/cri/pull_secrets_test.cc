#include "runtime/cri/pull_secrets.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/base64.h"

namespace berth::cri {
namespace {

struct PullSecretsTest : testing::Test {
  void Give(const std::string& name, const std::string& json,
            const std::string& type = "kubernetes.io/dockerconfigjson") {
    const std::string key = type == "kubernetes.io/dockercfg" ? ".dockercfg" : ".dockerconfigjson";
    documents[DocumentName(DocumentKind::kSecret, "default", name)] = std::make_shared<const ConfigDocument>(
        ConfigDocument{.kind = DocumentKind::kSecret, .name = name, .data = {{key, json}}, .binary = {}, .type = type});
    pod.image_pull_secrets.push_back(name);
  }
  PullSecrets For(const std::string& image) const {
    return PullSecretsFor(pod, image, {.documents = std::make_shared<const ConfigDocuments>(documents)});
  }
  /// Names of users in the order in which they are tried, with a comma behind each.
  std::string UsersFor(const std::string& image) const {
    std::string out;
    for (const Credentials& one : For(image).credentials) out += one.username + ",";
    return out;
  }

  ConfigDocuments documents;
  Pod pod;
};

std::string Auths(const std::string& registries) { return "{\"auths\": {" + registries + "}}"; }
std::string Auth(const std::string& registry, const std::string& user) {
  return "\"" + registry + "\": {\"username\": \"" + user + "\", \"password\": \"p\"}";
}

TEST_F(PullSecretsTest, OnlyCredentialsOfTheImagesRegistryAreShownToIt) {
  Give("all", Auths(Auth("one.test", "a") + "," + Auth("one.test:5000", "b") + "," + Auth("https://two.test/v1/", "c") +
                    "," + Auth("*.three.test", "d") + "," + Auth("localhost:80", "e")));
  EXPECT_EQ(UsersFor("one.test/web:1"), "a,");
  EXPECT_EQ(UsersFor("one.test:5000/web:1"), "b,");
  EXPECT_EQ(UsersFor("two.test/deep/web@sha256:0"), "c,");
  EXPECT_EQ(UsersFor("x.three.test/web"), "d,");
  EXPECT_EQ(UsersFor("x.y.three.test/web"), "") << "a star is one label";
  EXPECT_EQ(UsersFor("three.test/web"), "");
  EXPECT_EQ(UsersFor("localhost:80/web"), "e,");
  EXPECT_EQ(UsersFor("web"), "");
  EXPECT_EQ(UsersFor("one.test.evil.test/web"), "");
}

TEST_F(PullSecretsTest, WhoNamesMoreOfTheImageIsTriedFirst) {
  Give("wide", Auths(Auth("one.test", "a") + "," + Auth("one.test/team", "b")));
  Give("close", Auths(Auth("one.test/team/web", "c") + "," + Auth("one.test/other", "d")));
  EXPECT_EQ(UsersFor("one.test/team/web:1"), "c,b,a,");
}

TEST_F(PullSecretsTest, ANameWithoutARegistryIsOfDockersOwn) {
  Give("hub", Auths(Auth("https://index.docker.io/v1/", "a")));
  for (const char* const image :
       {"nginx", "nginx:1", "team/web", "docker.io/library/nginx", "index.docker.io/team/web"})
    EXPECT_EQ(UsersFor(image), "a,") << image;
}

TEST_F(PullSecretsTest, NameAndPasswordMayBeOneWord) {
  Give("joined", Auths("\"one.test\": {\"auth\": \"" + ToBase64("user:pass:word") + "\"}"));
  Give("old", R"({"one.test": {"identitytoken": "t"}})", "kubernetes.io/dockercfg");
  const PullSecrets found = For("one.test/web");
  ASSERT_EQ(found.credentials.size(), 2U);
  EXPECT_EQ(found.credentials[0], (Credentials{.username = "user", .password = "pass:word"}));
  EXPECT_EQ(found.credentials[1], (Credentials{.identity_token = "t"}));
  EXPECT_TRUE(found.problems.empty());
}

TEST_F(PullSecretsTest, WhatCannotBeUsedIsNamedAndNotQuoted) {
  Give("opaque", "{}", "Opaque");
  Give("broken", "{hunter2");
  Give("list", "[\"hunter2\"]");
  Give("odd", Auths("\"one.test\": \"hunter2\", \"two.test\": {\"auth\": \"%%%\"}, \"three.test\": {}"));
  pod.image_pull_secrets.emplace_back("missing");
  const PullSecrets found = For("one.test/web");
  EXPECT_TRUE(found.credentials.empty());
  EXPECT_EQ(found.problems, (std::vector<std::string>{
                                "imagePullSecrets: secret \"opaque\": its type is not kubernetes.io/dockerconfigjson",
                                "imagePullSecrets: secret \"broken\": its .dockerconfigjson is no list of registries",
                                "imagePullSecrets: secret \"list\": its .dockerconfigjson is no list of registries",
                                "imagePullSecrets: secret \"missing\": secret \"missing\" not found",
                            }));
  pod.namespace_ = "other";
  EXPECT_EQ(For("one.test/web").problems.size(), 5U) << "secrets of another namespace are nobody's";
}

}  // namespace
}  // namespace berth::cri
