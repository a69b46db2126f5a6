#include "telemetry/metrics/exposition_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace berth::metrics {
namespace {

constexpr double kUpTo[] = {0.5, 2};
constexpr Family kPlain{"a_total", Kind::kCounter, "What a is."};
constexpr Family kLabelled{"b_bytes", Kind::kGauge, "What b is.", {"pod", "node"}};
constexpr Family kSpread{"c_seconds", Kind::kHistogram, "What c is.", {"kind"}};

TEST(MetricsTextTest, APageHasHelpAndTypeBeforeTheSamplesOfEachFamily) {
  Histogram times(kUpTo);
  for (const double time : {0.25, 0.5, 1.0, 4.0}) times.Add(time);
  Page page;
  page.Begin(kPlain);
  page.Add(3);
  page.Begin(kLabelled);
  page.Add(1.5, {"web", "0"});
  page.Add(2, {"db", "1"});
  page.Begin(kSpread);
  page.Add(times, {"x"});
  EXPECT_EQ(page.text(),
            "# HELP a_total What a is.\n"
            "# TYPE a_total counter\n"
            "a_total 3\n"
            "# HELP b_bytes What b is.\n"
            "# TYPE b_bytes gauge\n"
            "b_bytes{pod=\"web\",node=\"0\"} 1.5\n"
            "b_bytes{pod=\"db\",node=\"1\"} 2\n"
            "# HELP c_seconds What c is.\n"
            "# TYPE c_seconds histogram\n"
            "c_seconds_bucket{kind=\"x\",le=\"0.5\"} 2\n"
            "c_seconds_bucket{kind=\"x\",le=\"2\"} 3\n"
            "c_seconds_bucket{kind=\"x\",le=\"+Inf\"} 4\n"
            "c_seconds_sum{kind=\"x\"} 5.75\n"
            "c_seconds_count{kind=\"x\"} 4\n");
}

TEST(MetricsTextTest, AFamilyWithoutSamplesIsStillNamed) {
  Page page;
  page.Begin(kLabelled);
  EXPECT_EQ(page.text(), "# HELP b_bytes What b is.\n# TYPE b_bytes gauge\n");
}

TEST(MetricsTextTest, LabelsAreEscapedAndAlwaysUtf8) {
  EXPECT_EQ(EscapeLabel("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
  EXPECT_EQ(EscapeLabel("caf\xc3\xa9 \xf0\x9f\x98\x80"), "caf\xc3\xa9 \xf0\x9f\x98\x80");
  EXPECT_EQ(EscapeLabel("caf\xe9!"), "caf\xef\xbf\xbd!");
  EXPECT_EQ(EscapeLabel("\xc3"), "\xef\xbf\xbd") << "cut in the middle";
  EXPECT_EQ(EscapeLabel("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd") << "longer than it has to be";
  EXPECT_EQ(EscapeLabel("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") << "half a character of UTF-16";
}

TEST(MetricsTextTest, WholeNumbersAreWrittenAsSuch) {
  EXPECT_EQ(FormatValue(0), "0");
  EXPECT_EQ(FormatValue(-2), "-2");
  EXPECT_EQ(FormatValue(1e6), "1000000");
  EXPECT_EQ(FormatValue(67'108'864'000), "67108864000");
  EXPECT_EQ(FormatValue(0.1), "0.1");
  EXPECT_EQ(FormatValue(0.0001), "0.0001");
  EXPECT_EQ(FormatValue(1e-9), "1e-09");
  EXPECT_EQ(FormatValue(1e300), "1e+300");
  EXPECT_EQ(FormatValue(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(FormatValue(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(FormatValue(std::nan("")), "NaN");
}

}  // namespace
}  // namespace berth::metrics
