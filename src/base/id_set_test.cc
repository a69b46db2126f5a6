#include "base/id_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CpuSet Cpus(std::string_view text) {
  Result<CpuSet> set = CpuSet::Parse(text);
  EXPECT_TRUE(set) << (set ? "" : set.error().message);
  return set ? *std::move(set) : CpuSet();
}

std::string ErrorOfList(std::string_view text) {
  const Result<CpuSet> set = CpuSet::Parse(text);
  if (set) return "accepted as " + FormatIds(*set);
  EXPECT_EQ(set.error().code, Code::kInvalid);
  return set.error().message;
}

TEST(IdSetTest, ReadsTheKernelListFormat) {
  EXPECT_THAT(Cpus("0-3,8"), ElementsAre(CpuId{0}, CpuId{1}, CpuId{2}, CpuId{3}, CpuId{8}));
  EXPECT_THAT(Cpus("0-3,8\n"), ElementsAre(CpuId{0}, CpuId{1}, CpuId{2}, CpuId{3}, CpuId{8}));
  EXPECT_THAT(Cpus("5-5"), ElementsAre(CpuId{5}));
  EXPECT_THAT(Cpus("4095"), ElementsAre(CpuId{4095}));
  EXPECT_THAT(Cpus("8191"), ElementsAre(CpuId{8191}));
  EXPECT_EQ(Cpus("0-8191").Count(), 8192);
}

TEST(IdSetTest, EmptyTextIsTheEmptySetAndNeverCpuZero) {
  EXPECT_TRUE(Cpus("").empty());
  EXPECT_TRUE(Cpus("\n").empty());
  EXPECT_EQ(FormatIds(CpuSet()), "");
}

TEST(IdSetTest, OrderAndOverlapDoNotMatter) {
  EXPECT_EQ(Cpus("8,0-3"), Cpus("0-3,8"));
  EXPECT_EQ(Cpus("0-2,1-3"), Cpus("0-3"));
  EXPECT_EQ(Cpus("1,1,1"), Cpus("1"));
}

TEST(IdSetTest, RefusesJunkAndNamesIt) {
  EXPECT_THAT(ErrorOfList("0-3,"), HasSubstr("field '': expected a number or a range"));
  EXPECT_THAT(ErrorOfList(","), HasSubstr("expected a number or a range"));
  EXPECT_THAT(ErrorOfList("0,,1"), HasSubstr("expected a number or a range"));
  EXPECT_THAT(ErrorOfList("7-0"), HasSubstr("bad CPU list field '7-0': the range runs backwards"));
  EXPECT_THAT(ErrorOfList("0-7 "), HasSubstr("'0-7 '"));
  EXPECT_THAT(ErrorOfList(" 0"), HasSubstr("' 0'"));
  EXPECT_THAT(ErrorOfList("0-7\n\n"), HasSubstr("'0-7\\x0a'"));
  EXPECT_THAT(ErrorOfList("0-7x"), HasSubstr("'0-7x'"));
  EXPECT_THAT(ErrorOfList("-1"), HasSubstr("'-1'"));
  EXPECT_THAT(ErrorOfList("1-"), HasSubstr("'1-'"));
  EXPECT_THAT(ErrorOfList("1-2-3"), HasSubstr("'1-2-3'"));
  EXPECT_THAT(ErrorOfList("+1"), HasSubstr("'+1'"));
  EXPECT_THAT(ErrorOfList("0x1"), HasSubstr("'0x1'"));
  EXPECT_THAT(ErrorOfList("1.0"), HasSubstr("'1.0'"));
  EXPECT_THAT(ErrorOfList(std::string_view("1\0", 2)), HasSubstr("'1\\x00'"));
  const Result<NodeSet> nodes = NodeSet::Parse("x");
  ASSERT_FALSE(nodes);
  EXPECT_THAT(nodes.error().message, HasSubstr("NUMA node list"));
}

TEST(IdSetTest, IdsBeyondTheLargestAreAnErrorAndNeverAnAbort) {
  EXPECT_THAT(ErrorOfList("8192"), HasSubstr("ids above 8191 are not supported"));
  EXPECT_THAT(ErrorOfList("0-8192"), HasSubstr("ids above 8191"));
  EXPECT_THAT(ErrorOfList("0-4294967295"), HasSubstr("ids above 8191"));
  EXPECT_THAT(ErrorOfList("4294967296"), HasSubstr("expected a number"));
  EXPECT_THAT(ErrorOfList("99999999999999999999"), HasSubstr("expected a number"));
}

TEST(IdSetTest, InsertBeyondTheLargestIsABugOfTheCaller) {
  EXPECT_DEATH(CpuSet({CpuId{8192}}), "check failed: raw <= kMaxId");
}

TEST(IdSetTest, WritesMaximalRuns) {
  EXPECT_EQ(FormatIds(Cpus("4,5")), "4-5");
  EXPECT_EQ(FormatIds(Cpus("0,2,4")), "0,2,4");
  EXPECT_EQ(FormatIds(Cpus("63,64,65")), "63-65");
  EXPECT_EQ(FormatIds(NodeSet{NumaId{1}, NumaId{0}}), "0-1");
}

TEST(IdSetTest, EqualSetsAreEqualWhateverTheirCapacity) {
  CpuSet grown = Cpus("0-8191");
  grown &= Cpus("0-1");
  EXPECT_EQ(grown, Cpus("0-1"));
  EXPECT_EQ(Cpus("0-1"), grown);
  EXPECT_TRUE((grown <=> Cpus("0-1")) == 0);
  grown -= Cpus("0-1");
  EXPECT_TRUE(grown.empty());
  EXPECT_EQ(grown, CpuSet());
  EXPECT_EQ(grown.First(), std::nullopt);
  EXPECT_EQ(grown.Last(), std::nullopt);
}

TEST(IdSetTest, ComparesAsNumbers) {
  EXPECT_LT(Cpus("0-63"), Cpus("64"));
  EXPECT_LT(Cpus("0,2"), Cpus("1,2"));
  EXPECT_GT(Cpus("1000"), Cpus("0-999"));
  EXPECT_LT(CpuSet(), Cpus("0"));
}

TEST(IdSetTest, RangeIsInclusiveAndEmptyWhenReversed) {
  EXPECT_EQ(CpuSet::Range(2, 4), Cpus("2-4"));
  EXPECT_EQ(CpuSet::Range(4, 2), CpuSet());
  EXPECT_EQ(CpuSet::Range(0, kMaxId).Count(), 8192);
}

TEST(IdSetTest, AMovedFromSetIsEmptyAndUsable) {
  for (const std::string_view text : {"1-3", "1-3,4000"}) {
    CpuSet from = Cpus(text);
    const CpuSet to = std::move(from);
    EXPECT_EQ(to, Cpus(text));
    EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): the contract says so
    from.Insert(CpuId{7});
    EXPECT_EQ(from, Cpus("7"));
    CpuSet assigned = Cpus("9");
    assigned = std::move(from);
    EXPECT_EQ(assigned, Cpus("7"));
    EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move)
  }
}

TEST(IdSetTest, ClearForgetsAll) {
  CpuSet set = Cpus("0-8191");
  set.Clear();
  EXPECT_TRUE(set.empty());
  set.Insert(CpuId{300});
  EXPECT_EQ(FormatIds(set), "300");
}

// The slow obvious twin: every operation on a bitmap set must agree with std::set.
using Twin = std::set<std::uint32_t>;

template <class Set>
Twin TwinOf(const Set& set) {
  Twin out;
  for (const auto id : set) out.insert(Raw(id));
  return out;
}

template <class Set>
Set RandomSet(std::mt19937_64& random) {
  constexpr std::uint32_t kSpans[] = {8, 64, 70, 256, 300, 1024, 8192};
  const std::uint32_t span = kSpans[random() % std::size(kSpans)];
  Set out;
  for (std::uint64_t left = random() % 40; left > 0; --left)
    out.Insert(typename Set::Id{static_cast<std::uint32_t>(random() % span)});
  for (std::uint64_t left = random() % 3; left > 0; --left) {
    const auto first = static_cast<std::uint32_t>(random() % span);
    out |= Set::Range(first, std::min<std::uint32_t>(first + random() % 200, span - 1));
  }
  return out;
}

Twin Union(Twin a, const Twin& b) {
  a.insert(b.begin(), b.end());
  return a;
}
Twin Minus(Twin a, const Twin& b) {
  for (const std::uint32_t id : b) a.erase(id);
  return a;
}
Twin Common(const Twin& a, const Twin& b) { return Minus(a, Minus(a, b)); }

std::string TwinText(const Twin& twin) {
  std::string out;
  for (auto it = twin.begin(); it != twin.end();) {
    const std::uint32_t first = *it;
    std::uint32_t last = first;
    while (++it != twin.end() && *it == last + 1) last = *it;
    out += (out.empty() ? "" : ",") + std::to_string(first) + (first == last ? "" : "-" + std::to_string(last));
  }
  return out;
}

template <class Set>
void CheckAlgebra(const Set& a, const Set& b) {
  const Twin x = TwinOf(a);
  const Twin y = TwinOf(b);
  EXPECT_EQ(TwinOf(a | b), Union(x, y));
  EXPECT_EQ(TwinOf(a & b), Common(x, y));
  EXPECT_EQ(TwinOf(a - b), Minus(x, y));
  EXPECT_EQ(a == b, x == y);
  EXPECT_EQ(a.IsSubsetOf(b), Minus(x, y).empty());
  EXPECT_EQ(a.Intersects(b), !Common(x, y).empty());
  EXPECT_EQ(a.CountCommon(b), static_cast<int>(Common(x, y).size()));
  // As numbers: the larger one owns the highest id that is not in both.
  const Twin only = Union(Minus(x, y), Minus(y, x));
  EXPECT_EQ(a < b, !only.empty() && y.contains(*only.rbegin()));
}

template <class Set>
void CheckOne(const Set& a) {
  using Id = typename Set::Id;
  const Twin x = TwinOf(a);
  EXPECT_EQ(a.Count(), static_cast<int>(x.size()));
  EXPECT_EQ(a.empty(), x.empty());
  EXPECT_EQ(a.First(), x.empty() ? std::nullopt : std::optional(Id{*x.begin()}));
  EXPECT_EQ(a.Last(), x.empty() ? std::nullopt : std::optional(Id{*x.rbegin()}));
  EXPECT_EQ(FormatIds(a), TwinText(x));
  const Result<Set> again = Set::Parse(FormatIds(a));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, a);
}

template <class Set>
void CheckAgainstTwin(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300 && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    Set a = RandomSet<Set>(random);
    const Set b = random() % 8 == 0 ? a : RandomSet<Set>(random);
    CheckOne(a);
    CheckAlgebra(a, b);
    const typename Set::Id id{static_cast<std::uint32_t>(random() % 8192)};
    Twin x = TwinOf(a);
    EXPECT_EQ(a.Contains(id), x.contains(Raw(id)));
    a.Insert(id);
    x.insert(Raw(id));
    EXPECT_EQ(TwinOf(a), x);
    a.Erase(id);
    x.erase(Raw(id));
    EXPECT_EQ(TwinOf(a), x);
  }
}

TEST(IdSetTest, AgreesWithAStdSetOnRandomCpus) { CheckAgainstTwin<CpuSet>(11); }
TEST(IdSetTest, AgreesWithAStdSetOnRandomNodes) { CheckAgainstTwin<NodeSet>(12); }

TEST(IdSetTest, RandomTextNeverAborts) {
  const std::uint64_t seed = 13;
  std::mt19937_64 random(seed);
  constexpr std::string_view kAlphabet = "0123456789,--\n x";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::uint64_t left = random() % 12; left > 0; --left) text += kAlphabet[random() % kAlphabet.size()];
    const Result<CpuSet> set = CpuSet::Parse(text);
    if (!set) continue;
    const Result<CpuSet> again = CpuSet::Parse(FormatIds(*set));
    ASSERT_TRUE(again) << text << " seed " << seed;
    ASSERT_EQ(*set, *again) << text << " seed " << seed;
  }
}

}  // namespace
}  // namespace berth
