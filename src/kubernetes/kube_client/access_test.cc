#include "kubernetes/kube_client/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/memory_fs.h"

namespace berth::kube {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHead = R"(
apiVersion: v1
kind: Config
current-context: main
contexts:
- {name: main, context: {cluster: here, user: me, namespace: work}}
)";

Result<Access> ReadOne(const std::string& cluster, const std::string& user) {
  return ReadKubeconfig({{.path = "/etc/kube/config",
                          .text = std::string(kHead) + "clusters: [{name: here, cluster: {" + cluster +
                                  "}}]\nusers: [{name: me, user: {" + user + "}}]\n"}});
}

TEST(KubeconfigTest, FilesCountFromTheFolderOfTheKubeconfig) {
  const auto access =
      ReadOne("server: \"https://api.example:6443/\", certificate-authority: pki/ca.crt, tls-server-name: kubernetes",
              "client-certificate: /abs/me.crt, client-key: me.key");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://api.example:6443");
  EXPECT_EQ(access->server_name, "kubernetes");
  EXPECT_EQ(access->authorities, (Pem{"/etc/kube/pki/ca.crt", ""}));
  EXPECT_EQ(access->certificate, (Pem{"/abs/me.crt", ""}));
  EXPECT_EQ(access->key, (Pem{"/etc/kube/me.key", ""}));
  EXPECT_EQ(access->namespace_, "work");
  EXPECT_TRUE(access->verify);
}

TEST(KubeconfigTest, DataAtHandIsDecoded) {
  const auto access =
      ReadOne("server: \"https://h/prefix/\", certificate-authority-data: Y2E=",
              "client-certificate-data: Y2VydA==, client-key-data: \"a2\\nV5\\n\", token: t, tokenFile: tok");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://h:443/prefix");
  EXPECT_EQ(access->authorities.data, "ca");
  EXPECT_EQ(access->certificate.data, "cert");
  EXPECT_EQ(access->key.data, "key");
  EXPECT_EQ(access->token, "t");
  EXPECT_EQ(access->token_file, "/etc/kube/tok");
}

TEST(KubeconfigTest, SomebodyElsesCredentialsAreRefusedWithTheCure) {
  for (const char* const user : {"exec: {command: aws}", "auth-provider: {name: gcp}", "username: a, password: b",
                                 "as: root", "as-groups: [x]"}) {
    const auto access = ReadOne("server: \"https://h\"", user);
    ASSERT_FALSE(access) << user;
    EXPECT_EQ(access.error().code, Code::kUnsupported);
    EXPECT_THAT(access.error().message, HasSubstr("/etc/kube/config: user \"me\": "));
    EXPECT_THAT(access.error().message, HasSubstr("give this user a tokenFile"));
  }
}

TEST(KubeconfigTest, WhatContradictsItselfIsRefused) {
  EXPECT_FALSE(ReadOne("server: \"https://h\", insecure-skip-tls-verify: true, certificate-authority: ca", "token: t"));
  EXPECT_FALSE(ReadOne("server: \"https://h\", certificate-authority-data: \"?\"", "token: t"));
  EXPECT_FALSE(ReadOne("server: \"https://h\"", "client-certificate: c"));
  EXPECT_FALSE(ReadOne("server: \"https://me:pw@h\"", "token: t"));
  EXPECT_FALSE(ReadOne("server: \"https://h?x=1\"", "token: t"));
  EXPECT_FALSE(ReadOne("", "token: t"));
  const auto insecure = ReadOne("server: \"https://h\", insecure-skip-tls-verify: true", "token: t");
  ASSERT_TRUE(insecure) << insecure.error().message;
  EXPECT_FALSE(insecure->verify);
}

TEST(KubeconfigTest, NoMessageQuotesASecret) {
  const std::string server = "server: \"https://h\"";
  for (const auto& access :
       {ReadOne(server, "token: 12345678"), ReadOne(server, "token: [12345678]"),
        ReadOne(server, "client-certificate: c, client-key-data: 12345678"),
        ReadOne(server + ", certificate-authority-data: 12345678", ""), ReadOne(server, "token: !12345678 x"),
        ReadOne(server, "token: *12345678"), ReadOne(server, "token: \"12345678\"}, \"12345678\"]"),
        ReadKubeconfig({{.path = "f", .text = std::string(kHead) + "users: [{name: me, user: 12345678}]"}}),
        ReadKubeconfig({{.path = "f", .text = std::string(kHead) + "users: [12345678]"}}),
        ReadKubeconfig({{.path = "f", .text = "{\"users\": [{\"user\": {\"token\": 12345678 12345678}}]}"}})}) {
    ASSERT_FALSE(access);
    EXPECT_THAT(access.error().message, Not(HasSubstr("1234")));
    EXPECT_THAT(access.error().message, Not(HasSubstr("5678")));
  }
  EXPECT_THAT(ReadOne(server, "token: 12345678").error().message,
              HasSubstr("user \"me\".token: expected a string; put it in quotes"));
}

TEST(KubeconfigTest, PlainHttpIsForTheLoopback) {
  EXPECT_TRUE(ReadOne("server: \"http://127.0.0.1:8001\"", ""));
  EXPECT_TRUE(ReadOne("server: \"http://localhost:8001\"", ""));
  EXPECT_FALSE(ReadOne("server: \"http://127.0.0.1.example.com\"", "token: t"));
  const auto open = ReadOne("server: \"http://api.example\"", "token: t");
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().message, HasSubstr("/etc/kube/config: cluster \"here\": server: only over https"));
}

TEST(KubeconfigTest, TheWayToTheServerHasToMakeSense) {
  for (const char* const proxy : {"http://proxy:3128", "https://me:pw@proxy", "socks5://127.0.0.1:1080"})
    EXPECT_TRUE(ReadOne("server: \"https://h\", proxy-url: \"" + std::string(proxy) + "\"", "")) << proxy;
  for (const char* const proxy : {"proxy:3128", "http://", "http:///x", "ftp://proxy", "socks5://a secret"}) {
    const auto access = ReadOne("server: \"https://h\", proxy-url: \"" + std::string(proxy) + "\"", "");
    ASSERT_FALSE(access) << proxy;
    EXPECT_THAT(access.error().message, HasSubstr("cluster \"here\".proxy-url: write http://HOST:PORT"));
    EXPECT_THAT(access.error().message, Not(HasSubstr("secret")));
  }
  EXPECT_FALSE(ReadOne("server: \"http://localhost:8001\", proxy-url: \"http://proxy:3128\"", "token: t"));
  EXPECT_FALSE(ReadOne("server: \"http://localhost:8001\", tls-server-name: kubernetes", "token: t"));
  EXPECT_FALSE(ReadOne("server: \"https://h\", tls-server-name: \"me@other/x\"", "token: t"));
}

TEST(KubeconfigTest, NamesThatLeadNowhereAreSaid) {
  const std::string head(kHead);
  const auto context = ReadKubeconfig({{.path = "f", .text = head}}, "other");
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().message, "f: there is no context \"other\"");
  const auto cluster = ReadKubeconfig({{.path = "f", .text = head}});
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().message, "f: there is no cluster \"here\"");
  EXPECT_FALSE(ReadKubeconfig({{.path = "f", .text = "apiVersion: v1\nkind: Config\n"}}));
  EXPECT_FALSE(ReadKubeconfig({{.path = "f", .text = "apiVersion: v1\nkind: Pod\n"}}));
  EXPECT_FALSE(ReadKubeconfig({{.path = "f", .text = ""}}));
  EXPECT_FALSE(ReadKubeconfig({{.path = "f", .text = "{"}}));
  EXPECT_FALSE(ReadKubeconfig({}));
}

TEST(KubeconfigTest, OfSeveralFilesTheFirstThatKnowsANameCounts) {
  testkit::MemoryFs fs({{"a", "current-context: main\nclusters: [{name: here, cluster: {server: 'https://first'}}]\n"},
                        {"k/b", std::string(kHead) + "clusters: [{name: here, cluster: {server: 'https://second'}}]\n"
                                                     "users: [{name: me, user: {tokenFile: t}}]\n"}});
  const auto access = LoadKubeconfig(fs, "/a:/missing:/k/b");
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://first:443");
  EXPECT_EQ(access->token_file, "/k/t");
  EXPECT_EQ(LoadKubeconfig(fs, "/missing").error().code, Code::kNotFound);
  EXPECT_EQ(LoadKubeconfig(fs, "/missing:/missing").error().code, Code::kNotFound);
  EXPECT_EQ(LoadKubeconfig(fs, "").error().code, Code::kNotFound);
}

TEST(ServiceAccountTest, APodHasItsOwn) {
  testkit::MemoryFs fs({{"sa/token", "t\n"}, {"sa/ca.crt", "ca"}, {"sa/namespace", "space\n"}});
  const auto access = LoadServiceAccount(fs, {.host = "fd00::1", .port = "443", .folder = "/sa"});
  ASSERT_TRUE(access) << access.error().message;
  EXPECT_EQ(access->server, "https://[fd00::1]:443");
  EXPECT_EQ(access->token_file, "/sa/token");
  EXPECT_EQ(access->authorities.file, "/sa/ca.crt");
  EXPECT_EQ(access->namespace_, "space");
  EXPECT_EQ(LoadServiceAccount(fs, {.host = "", .port = "", .folder = "/sa"}).error().code, Code::kNotFound);
  EXPECT_EQ(LoadServiceAccount(fs, {.host = "h", .port = "443", .folder = "/none"}).error().code, Code::kNotFound);
  EXPECT_EQ(LoadServiceAccount(fs, {.host = "h", .port = "x", .folder = "/sa"}).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace berth::kube
