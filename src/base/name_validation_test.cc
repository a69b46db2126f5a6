#include "base/name_validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::HasSubstr;

TEST(NamesTest, GoodNamesPass) {
  const std::string longest(63, 'a');
  for (const std::string_view good : {std::string_view("a"), std::string_view("web-1"), std::string_view(longest)}) {
    EXPECT_EQ(CheckLabelName(good), "");
    EXPECT_EQ(CheckSubdomainName(good), "");
  }
  EXPECT_EQ(CheckSubdomainName("web.example-1.com"), "");
  EXPECT_EQ(CheckSubdomainName(std::string(253, 'a')), "");
  EXPECT_EQ(CheckUid("0A-9f"), "");
}

TEST(NamesTest, BadNamesAreRefusedWithACure) {
  EXPECT_EQ(CheckLabelName(""), "Required value: give it a name");
  EXPECT_THAT(CheckLabelName("My_App"), HasSubstr("Invalid value: \"My_App\": a lowercase RFC 1123 label"));
  EXPECT_THAT(CheckLabelName("My_App"), HasSubstr("rename it, for example to \"my-app\""));
  EXPECT_THAT(CheckLabelName("../../etc"), HasSubstr("for example to \"etc\""));
  EXPECT_THAT(CheckLabelName("a.b"), HasSubstr("RFC 1123 label"));
  EXPECT_THAT(CheckLabelName("-a"), HasSubstr("RFC 1123 label"));
  EXPECT_THAT(CheckLabelName("a-"), HasSubstr("RFC 1123 label"));
  EXPECT_THAT(CheckLabelName(std::string(64, 'a')), HasSubstr("no more than 63 bytes"));
  EXPECT_THAT(CheckSubdomainName("../x"), HasSubstr("RFC 1123 subdomain"));
  EXPECT_THAT(CheckSubdomainName("a..b"), HasSubstr("RFC 1123 subdomain"));
  EXPECT_THAT(CheckSubdomainName("a.-b"), HasSubstr("RFC 1123 subdomain"));
  EXPECT_THAT(CheckSubdomainName("a/b"), HasSubstr("RFC 1123 subdomain"));
  EXPECT_THAT(CheckSubdomainName(std::string(254, 'a')), HasSubstr("no more than 253 bytes"));
  EXPECT_THAT(CheckLabelName("///"), testing::Not(HasSubstr("rename it")));
}

TEST(NamesTest, UidsAreFitForPaths) {
  for (const std::string_view bad : {"..", "a/b", "../../x", "a_b", "a.b", "a b", "\xc3\xa9"})
    EXPECT_THAT(CheckUid(bad), HasSubstr("must consist of letters, digits and '-'")) << bad;
  EXPECT_THAT(CheckUid(std::string(64, 'a')), HasSubstr("no more than 63"));
}

TEST(NamesTest, QualifiedNamesNeedADomain) {
  for (const std::string_view good : {"vendor.example/gpu", "nvidia.com/mig-1g.5gb", "a/B_c"})
    EXPECT_TRUE(IsQualifiedName(good)) << good;
  for (const std::string_view bad : {"gpu", "/gpu", "vendor.example/", "Vendor/gpu", "a/b/c", "a/-b", "a/b-", "a/b c"})
    EXPECT_FALSE(IsQualifiedName(bad)) << bad;
}

TEST(NamesTest, EnvNamesArePrintableAsciiWithoutEquals) {
  EXPECT_EQ(CheckEnvName("PATH"), "");
  EXPECT_EQ(CheckEnvName("my.var-1"), "");
  EXPECT_EQ(CheckEnvName(""), "Required value: give it a name");
  EXPECT_THAT(CheckEnvName("a=b"), HasSubstr("other than '='"));
  EXPECT_THAT(CheckEnvName("a\nb"), HasSubstr("printable ASCII"));
}

}  // namespace
}  // namespace berth
