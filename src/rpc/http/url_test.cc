#include "rpc/http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::http {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(UrlTest, ReadsHostPortAndTarget) {
  const auto plain = ParseUrl("http://node.example/pods?x=1#part", "staticPodURL", "give them in staticPodURLHeader");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "node.example");
  EXPECT_EQ(plain->port, 80);
  EXPECT_EQ(plain->target, "/pods?x=1");
  const auto secure = ParseUrl("https://[fe80::1]:8443", "staticPodURL", "give them in staticPodURLHeader");
  ASSERT_TRUE(secure);
  EXPECT_TRUE(secure->tls);
  EXPECT_EQ(secure->host, "fe80::1");
  EXPECT_EQ(secure->port, 8443);
  EXPECT_EQ(secure->target, "/");
  EXPECT_EQ(ParseUrl("https://host/", "staticPodURL", "give them in staticPodURLHeader")->port, 443);
}

TEST(UrlTest, RefusesWhatItCannotUseWithFieldAndCure) {
  for (const char* text :
       {"", "pods", "ftp://host/pods", "http://", "http://:80/", "http://host:0/", "http://host:99999/",
        "http://host:x/", "http://[::1/", "http://[::1]x/", "http://host/a b"}) {
    const auto url = ParseUrl(text, "staticPodURL", "give them in staticPodURLHeader");
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, Code::kInvalid);
    EXPECT_THAT(url.error().message, HasSubstr("staticPodURL: ")) << text;
    EXPECT_THAT(url.error().message, HasSubstr("write http://HOST")) << text;
  }
  const auto secret = ParseUrl("http://me:pw@host/", "staticPodURL", "give them in staticPodURLHeader");
  ASSERT_FALSE(secret);
  EXPECT_THAT(secret.error().message, HasSubstr("staticPodURLHeader"));
  EXPECT_THAT(secret.error().message, Not(HasSubstr("pw")));
}

TEST(UrlTest, AuthoritiesHaveBracketsAroundAddressesWithColons) {
  EXPECT_EQ(Authority({.host = "::1", .port = 6443, .target = "/"}), "[::1]:6443");
  EXPECT_EQ(Authority({.host = "node.example", .port = 80, .target = "/"}), "node.example:80");
}

TEST(UrlTest, AQueryHasWhatIsThereEncoded) {
  EXPECT_EQ(PathAndQuery("/a").text(), "/a");
  EXPECT_EQ(PathAndQuery("/a").Add("b", "").Add("c", "d&e").Add("f", std::nullopt).Add("g", 7U).text(),
            "/a?c=d%26e&g=7");
}

TEST(UrlTest, EncodedTextKeepsUnreservedCharactersOnly) { EXPECT_EQ(EncodeQuery("a-Z0._~/ é"), "a-Z0._~%2F%20%C3%A9"); }

}  // namespace
}  // namespace berth::http
