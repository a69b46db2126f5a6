#include "base/base64.h"

#include <gtest/gtest.h>

#include <random>

namespace berth {
namespace {

TEST(Base64Test, WritesTheLettersOfTheStandard) {
  EXPECT_EQ(ToBase64(""), "");
  EXPECT_EQ(ToBase64("b"), "Yg==");
  EXPECT_EQ(ToBase64("be"), "YmU=");
  EXPECT_EQ(ToBase64("ber"), "YmVy");
  EXPECT_EQ(ToBase64(std::string("\xfb\xff\x00\x01", 4)), "+/8AAQ==");
}

TEST(Base64Test, RefusesWhatIsNone) {
  for (const char* const junk : {"Y", "Yg", "Yg=", "Yg==Yg==", "=Yg=", "Y===", "Yg-_", "Yg= =", "\xff\xff\xff\xff"})
    EXPECT_FALSE(FromBase64(junk)) << junk;
}

TEST(Base64Test, ComesBackByteForByte) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    std::string bytes(random() % 100, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(FromBase64(ToBase64(bytes)), bytes) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth
