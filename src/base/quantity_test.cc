#include "base/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace berth {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

Quantity Q(std::string_view text) {
  Result<Quantity> q = Quantity::Parse(text);
  EXPECT_TRUE(q) << (q ? "" : q.error().message);
  return q ? *q : Quantity();
}

std::string Canonical(std::string_view text) { return Q(text).ToString(); }

std::string ErrorOfQuantity(std::string_view text) {
  const Result<Quantity> q = Quantity::Parse(text);
  if (q) return "accepted as " + q->ToString();
  EXPECT_EQ(q.error().code, Code::kInvalid);
  return q.error().message;
}

TEST(QuantityTest, ReadsEverySuffix) {
  EXPECT_EQ(Q("5n").Value(), 1);
  EXPECT_EQ(Q("3000u").MilliValue(), 3);
  EXPECT_EQ(Q("1500m").MilliValue(), 1500);
  EXPECT_EQ(Q("7").Value(), 7);
  EXPECT_EQ(Q("7k").Value(), 7'000);
  EXPECT_EQ(Q("7M").Value(), 7'000'000);
  EXPECT_EQ(Q("7G").Value(), 7'000'000'000);
  EXPECT_EQ(Q("7T").Value(), 7'000'000'000'000);
  EXPECT_EQ(Q("7P").Value(), 7'000'000'000'000'000);
  EXPECT_EQ(Q("7E").Value(), 7'000'000'000'000'000'000);
  EXPECT_EQ(Q("3Ki").Value(), 3LL << 10);
  EXPECT_EQ(Q("3Mi").Value(), 3LL << 20);
  EXPECT_EQ(Q("3Gi").Value(), 3LL << 30);
  EXPECT_EQ(Q("3Ti").Value(), 3LL << 40);
  EXPECT_EQ(Q("3Pi").Value(), 3LL << 50);
  EXPECT_EQ(Q("3Ei").Value(), 3LL << 60);
}

TEST(QuantityTest, ReadsExponentsWithAndWithoutSign) {
  EXPECT_EQ(Q("1e3").Value(), 1000);
  EXPECT_EQ(Q("1E3").Value(), 1000);
  EXPECT_EQ(Q("1e+3").Value(), 1000);
  EXPECT_EQ(Q("12e-3").MilliValue(), 12);
  EXPECT_EQ(Q("1E").Value(), 1'000'000'000'000'000'000);  // exa, not an exponent
  EXPECT_EQ(Q("1.5e3").Value(), 1500);
}

TEST(QuantityTest, ReadsSignsAndMissingDigitsAroundThePoint) {
  EXPECT_EQ(Q("-2").Value(), -2);
  EXPECT_EQ(Q("+2").Value(), 2);
  EXPECT_EQ(Q(".5").MilliValue(), 500);
  EXPECT_EQ(Q("5.").Value(), 5);
  EXPECT_EQ(Q("-.5Gi").Value(), -(1LL << 29));
  EXPECT_EQ(Q("007").Value(), 7);
  EXPECT_EQ(Q("0000.000").Sign(), 0);
  EXPECT_EQ(Q("-0").Sign(), 0);
}

TEST(QuantityTest, WritesCanonicalText) {
  EXPECT_EQ(Canonical("1500m"), "1500m");
  EXPECT_EQ(Canonical("1.5"), "1500m");
  EXPECT_EQ(Canonical("0.1"), "100m");
  EXPECT_EQ(Canonical("2000m"), "2");
  EXPECT_EQ(Canonical("1000"), "1k");
  EXPECT_EQ(Canonical("100"), "100");
  EXPECT_EQ(Canonical("1e3"), "1e3");
  EXPECT_EQ(Canonical("1000e0"), "1e3");
  EXPECT_EQ(Canonical("100e0"), "100");
  EXPECT_EQ(Canonical("0.1e0"), "100e-3");
  EXPECT_EQ(Canonical("1.5Gi"), "1536Mi");
  EXPECT_EQ(Canonical("1024Ki"), "1Mi");
  EXPECT_EQ(Canonical("2Gi"), "2Gi");
  EXPECT_EQ(Canonical("-2Gi"), "-2Gi");
  EXPECT_EQ(Canonical("-1500m"), "-1500m");
  EXPECT_EQ(Canonical("0Gi"), "0");
  EXPECT_EQ(Canonical("1Ei"), "1Ei");
  EXPECT_EQ(Canonical("3E"), "3E");
  EXPECT_EQ(Canonical("5n"), "5n");
  EXPECT_EQ(Canonical("12u"), "12u");
}

TEST(QuantityTest, WritesSmallBinaryAmountsInDecimal) {
  EXPECT_EQ(Canonical("0.5Ki"), "512");
  EXPECT_EQ(Canonical("0.0001Ki"), "102400u");
  EXPECT_EQ(Canonical("0.1Gi"), "107374182400m");
  EXPECT_EQ(Quantity::FromBytes(Bytes{512}).ToString(), "512");
  EXPECT_EQ(Quantity::FromBytes(MiB(512)).ToString(), "512Mi");
  EXPECT_EQ(Quantity::FromMilli(250).ToString(), "250m");
  EXPECT_EQ(Quantity::FromUnits(250).ToString(), "250");
}

TEST(QuantityTest, RoundsAwayFromZeroBelowANano) {
  EXPECT_EQ(Canonical("0.1n"), "1n");
  EXPECT_EQ(Canonical("-0.1n"), "-1n");
  EXPECT_EQ(Canonical("1.0000000001"), "1000000001n");
  EXPECT_EQ(Canonical("1e-1000000"), "1e-9");
  EXPECT_EQ(Canonical("0." + std::string(5000, '0') + "1"), "1n");
}

TEST(QuantityTest, IsExactWhereDoublesAreNot) {
  EXPECT_EQ(Q("0.1") + Q("0.2"), Q("0.3"));
  EXPECT_EQ(Q("9007199254740993").Value(), 9007199254740993);
  EXPECT_EQ(Q("8191.999999999Pi").Value(), 9223372036853649909);  // 2^63 less 2^50 / 10^9, rounded up
  EXPECT_EQ(Q("1.000000000000000000000000000000Gi"), Q("1Gi"));
}

TEST(QuantityTest, CapsAtTheLargestInt64) {
  EXPECT_EQ(Q("9223372036854775807").Value(), kMax);
  EXPECT_EQ(Q("9223372036854775808").Value(), kMax);
  EXPECT_EQ(Q("100E").Value(), kMax);
  EXPECT_EQ(Q("8Ei").Value(), kMax);
  EXPECT_EQ(Q("-8Ei").Value(), -kMax);
  EXPECT_EQ(Q("1e9223372036854775807").Value(), kMax);
  EXPECT_EQ(Q("1" + std::string(5000, '0') + "Ei").Value(), kMax);
  EXPECT_EQ((Q("8E") + Q("8E")).Value(), kMax);
  EXPECT_EQ((Q("-8E") - Q("8E")).Value(), -kMax);
  EXPECT_EQ(Q("9E").MilliValue(), kMax);
  EXPECT_EQ(Q("9223372036854775807").ToString(), "9223372036854775807");
  EXPECT_EQ(Quantity::FromUnits(std::numeric_limits<std::int64_t>::min()).Value(), -kMax);
}

TEST(QuantityTest, RoundsWholeUnitsAndMillisAwayFromZero) {
  EXPECT_EQ(Q("1100m").Value(), 2);
  EXPECT_EQ(Q("-1100m").Value(), -2);
  EXPECT_EQ(Q("1100u").MilliValue(), 2);
  EXPECT_FALSE(Q("1100m").IsInteger());
  EXPECT_TRUE(Q("2000m").IsInteger());
  EXPECT_FALSE(Q("1n").IsInteger());
}

TEST(QuantityTest, ComparesAmountsWhateverTheFormat) {
  EXPECT_EQ(Q("1Ki"), Q("1024"));
  EXPECT_EQ(Q("1k"), Q("1e3"));
  EXPECT_LT(Q("999m"), Q("1"));
  EXPECT_GT(Q("-1"), Q("-2"));
}

TEST(QuantityTest, ArithmeticKeepsTheLeftFormatUnlessItIsZero) {
  EXPECT_EQ((Q("1Gi") + Q("1024")).ToString(), "1048577Ki");
  EXPECT_EQ((Q("0") + Q("1Gi")).ToString(), "1Gi");
  EXPECT_EQ((Quantity() - Q("1Gi")).ToString(), "-1Gi");
  EXPECT_EQ((Q("2") - Q("500m")).ToString(), "1500m");
}

TEST(QuantityTest, RefusesJunkAndNamesIt) {
  EXPECT_THAT(ErrorOfQuantity("1.5.2Gi"), HasSubstr("\"1.5.2Gi\": a second decimal point"));
  EXPECT_THAT(ErrorOfQuantity(""), HasSubstr("\"\": it is empty"));
  EXPECT_THAT(ErrorOfQuantity("Gi"), HasSubstr("\"Gi\": no digits"));
  EXPECT_THAT(ErrorOfQuantity("."), HasSubstr("no digits"));
  EXPECT_THAT(ErrorOfQuantity("-"), HasSubstr("no digits"));
  EXPECT_THAT(ErrorOfQuantity("--1"), HasSubstr("\"--1\": no digits"));
  EXPECT_THAT(ErrorOfQuantity("1 Gi"), HasSubstr("white space is not allowed"));
  EXPECT_THAT(ErrorOfQuantity("1Gi "), HasSubstr("white space is not allowed"));
  EXPECT_THAT(ErrorOfQuantity("1e"), HasSubstr("the exponent 'e' is not a whole number"));
  EXPECT_THAT(ErrorOfQuantity("1e1.5"), HasSubstr("the exponent 'e1.5'"));
  EXPECT_THAT(ErrorOfQuantity("1e+-3"), HasSubstr("the exponent 'e+-3'"));
  EXPECT_THAT(ErrorOfQuantity("1e99999999999999999999"), HasSubstr("the exponent"));
  EXPECT_THAT(ErrorOfQuantity("0x10"), HasSubstr("unknown suffix 'x10'"));
  EXPECT_THAT(ErrorOfQuantity("1kk"), HasSubstr("unknown suffix 'kk'"));
  EXPECT_THAT(ErrorOfQuantity("1K"), HasSubstr("unknown suffix 'K'"));
  EXPECT_THAT(ErrorOfQuantity("1GB"), HasSubstr("unknown suffix 'GB'"));
  EXPECT_THAT(ErrorOfQuantity("1gi"), HasSubstr("unknown suffix 'gi'"));
  EXPECT_THAT(ErrorOfQuantity("1mi"), HasSubstr("unknown suffix 'mi'"));
  EXPECT_THAT(ErrorOfQuantity("1,5"), HasSubstr("unknown suffix ',5'"));
  EXPECT_THAT(ErrorOfQuantity("1_000"), HasSubstr("unknown suffix '_000'"));
  EXPECT_THAT(ErrorOfQuantity("inf"), HasSubstr("no digits"));
  EXPECT_THAT(ErrorOfQuantity(" 1"), HasSubstr("no digits"));
  EXPECT_THAT(ErrorOfQuantity(std::string_view("1\0", 2)), HasSubstr("unknown suffix '\\x00'"));
}

TEST(QuantityTest, CanonicalTextReadsBackAsTheSameAmountAndText) {
  const std::uint64_t seed = 20240611;
  std::mt19937_64 random(seed);
  constexpr std::string_view kTails[] = {"", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti", "e3", "e-4", "E5"};
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random() % 4 == 0 ? "-" : "";
    text += std::to_string(random() >> (random() % 64));
    if (random() % 2 == 0) text += "." + std::to_string(random() >> (random() % 64));
    text += kTails[random() % std::size(kTails)];
    const Quantity q = Q(text);
    const Quantity again = Q(q.ToString());
    ASSERT_EQ(q, again) << text << " seed " << seed;
    ASSERT_EQ(q.ToString(), again.ToString()) << text << " seed " << seed;
  }
}

TEST(QuantityTest, AgreesWithPlainIntegersOnWholeMillis) {
  const std::uint64_t seed = 7;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    const auto milli = static_cast<std::int64_t>(random() % 2'000'000'000) - 1'000'000'000;
    const auto other = static_cast<std::int64_t>(random() % 2'000'000'000) - 1'000'000'000;
    const Quantity a = Q(std::to_string(milli) + "m");
    const Quantity b = Quantity::FromMilli(other);
    ASSERT_EQ((a + b).MilliValue(), milli + other) << "seed " << seed;
    ASSERT_EQ((a - b).MilliValue(), milli - other) << "seed " << seed;
    ASSERT_EQ(a < b, milli < other) << "seed " << seed;
    ASSERT_EQ(a.IsInteger(), milli % 1000 == 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth
