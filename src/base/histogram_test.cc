#include "base/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;

constexpr double kUpTo[] = {1, 2, 5};

TEST(HistogramTest, ABoundIsPartOfWhatItBounds) {
  Histogram sizes(kUpTo);
  for (const double size : {0.5, 1.0, 1.5, 2.0, 5.0, 5.1, 100.0}) sizes.Add(size);
  EXPECT_THAT(sizes.counts(), ElementsAre(2, 2, 1, 2));
  EXPECT_EQ(sizes.total(), 7U);
  EXPECT_DOUBLE_EQ(sizes.sum(), 115.1);
}

TEST(HistogramTest, WithoutBoundsItCountsAll) {
  Histogram sizes;
  sizes.Add(3);
  EXPECT_THAT(sizes.counts(), ElementsAre(1));
}

TEST(HistogramTest, EqualOnesHaveTheSameCountsAndSum) {
  Histogram a(kUpTo);
  Histogram b(kUpTo);
  EXPECT_EQ(a, b);
  a.Add(1);
  EXPECT_NE(a, b);
  b.Add(1);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace berth
