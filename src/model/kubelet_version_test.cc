#include "model/kubelet_version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace berth {
namespace {

TEST(KubeletVersionTest, EveryVersionIsReadFromItsName) {
  for (const KubeletVersion version : kKubeletVersions) {
    const auto read = ParseKubeletVersion(Name(version));
    ASSERT_TRUE(read) << Name(version);
    EXPECT_EQ(*read, version);
  }
  EXPECT_EQ(Name(KubeletVersion::k1_37), "1.37");
  EXPECT_TRUE(std::ranges::is_sorted(kKubeletVersions));
  EXPECT_LT(KubeletVersion::k1_36, KubeletVersion::k1_37);
}

TEST(KubeletVersionTest, OtherTextIsRefusedWithTheVersionsThereAre) {
  for (const std::string_view text : {"", "1", "1.3", "1.35", "v1.36", "1.36.0", "1.36 ", "1.360"}) {
    const auto read = ParseKubeletVersion(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kInvalid);
    EXPECT_THAT(read.error().message, testing::HasSubstr("1.36, 1.37, 1.38"));
  }
}

}  // namespace
}  // namespace berth
