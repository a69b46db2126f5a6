// Moving cpusets without an overlap at any moment: the observer sees every single write.
#include "host/cgroup/cpu_move.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "host/cgroup/host_tree.h"
#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"
#include "testing/fixtures.h"
#include "testing/memory_fs.h"

namespace berth::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::Cpus;
using testkit::FakeCgroups;
using testkit::MemoryFs;
using Wanted = std::vector<std::pair<std::string, CpuSet>>;

struct PinnedHost {
  explicit PinnedHost(bool v2, std::string cpus = "0-7") : kernel(fs, {.v2 = v2, .cpus = std::move(cpus)}) {
    auto opened = OpenTree(testkit::Share(fs), *DiscoverLayout(fs), "berth", {});
    BERTH_CHECK(opened.has_value());
    tree = *std::move(opened);
  }
  void Add(const std::string& path, const CpuSet& cpus) {
    ASSERT_TRUE(tree->Create(path));
    CgroupValues v;
    v.cpus = cpus;
    const auto written = tree->Write(path, v);
    ASSERT_TRUE(written) << written.error().message;
  }
  CpuSet Now(const std::string& path) { return kernel.EffectiveCpus("berth/" + path); }

  MemoryFs fs;
  FakeCgroups kernel;
  std::unique_ptr<Tree> tree;
};

class ApplyCpusTest : public ::testing::TestWithParam<bool> {
 protected:
  PinnedHost host_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Versions, ApplyCpusTest, ::testing::Bool(),
                         [](const auto& which) { return which.param ? "V2" : "V1"; });

TEST_P(ApplyCpusTest, SharedContainersGiveUpBeforeTheExclusiveOneTakes) {
  host_.Add("kubepods/a", Cpus("0-7"));
  host_.Add("kubepods/b", Cpus("0-7"));
  host_.Add("kubepods/x", Cpus("0"));
  host_.fs.ClearLog();
  const auto writes =
      ApplyCpus(*host_.tree, {{"kubepods/a", Cpus("0-3")}, {"kubepods/b", Cpus("0-3")}, {"kubepods/x", Cpus("4-7")}});
  ASSERT_TRUE(writes) << writes.error().message;
  EXPECT_EQ(3, *writes);
  EXPECT_THAT(host_.fs.log(), ElementsAre(HasSubstr("a/cpuset.cpus 0-3"), HasSubstr("b/cpuset.cpus 0-3"),
                                          HasSubstr("x/cpuset.cpus 4-7")));
}

TEST_P(ApplyCpusTest, NothingIsWrittenWhenNothingChanges) {
  host_.Add("kubepods/a", Cpus("0-3"));
  host_.Add("kubepods/x", Cpus("4"));
  const std::uint64_t before = host_.tree->writes();
  EXPECT_EQ(0, *ApplyCpus(*host_.tree, {{"kubepods/a", Cpus("0-3")}, {"kubepods/x", Cpus("4")}}));
  EXPECT_EQ(before, host_.tree->writes());
}

TEST_P(ApplyCpusTest, ASetThatGivesAndTakesNeedsOneWriteWhenNobodyIsInTheWay) {
  host_.Add("kubepods/a", Cpus("0-1"));
  EXPECT_EQ(1, *ApplyCpus(*host_.tree, {{"kubepods/a", Cpus("1-2")}}));
}

TEST_P(ApplyCpusTest, TwoExclusiveSetsChangePlacesOverALentCpu) {
  host_.Add("kubepods/s", Cpus("2-7"));
  host_.Add("kubepods/x", Cpus("0"));
  host_.Add("kubepods/y", Cpus("1"));
  host_.kernel.on_write = [&](const std::string&, const std::string&) {
    EXPECT_FALSE(host_.Now("kubepods/x").Intersects(host_.Now("kubepods/y")));
    EXPECT_FALSE(host_.Now("kubepods/x").Intersects(host_.Now("kubepods/s")));
    EXPECT_FALSE(host_.Now("kubepods/y").Intersects(host_.Now("kubepods/s")));
  };
  const auto done =
      ApplyCpus(*host_.tree, {{"kubepods/s", Cpus("2-7")}, {"kubepods/x", Cpus("1")}, {"kubepods/y", Cpus("0")}});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(Cpus("1"), host_.Now("kubepods/x"));
  EXPECT_EQ(Cpus("0"), host_.Now("kubepods/y"));
  EXPECT_EQ(Cpus("2-7"), host_.Now("kubepods/s"));
}

TEST_P(ApplyCpusTest, AnExchangeWithoutRoomIsRefusedAndNothingOverlaps) {
  host_.Add("kubepods/x", Cpus("0"));
  host_.Add("kubepods/y", Cpus("1"));
  const auto done = ApplyCpus(*host_.tree, {{"kubepods/x", Cpus("1")}, {"kubepods/y", Cpus("0")}});
  ASSERT_FALSE(done);
  EXPECT_EQ(Code::kBusy, done.error().code);
  EXPECT_THAT(done.error().message, HasSubstr("kubepods/x cannot get CPUs 1"));
  EXPECT_FALSE(host_.Now("kubepods/x").Intersects(host_.Now("kubepods/y")));
}

TEST_P(ApplyCpusTest, ASliceThatIsOverBringsOneSetForward) {
  Wanted wanted;
  for (const char* name : {"a", "b", "c", "d"}) {
    host_.Add(std::string("kubepods/") + name, Cpus("0-3"));
    wanted.emplace_back(std::string("kubepods/") + name, Cpus("1-3"));
  }
  auto move = CpuMove::Plan(wanted);
  ASSERT_TRUE(move);
  const os::Slice over(os::SystemClock(), os::MonoTime());
  int slices = 0;
  for (bool done = false; !done; ++slices) {
    const int before = move->writes();
    const auto worked = move->Work(*host_.tree, over);
    ASSERT_TRUE(worked) << worked.error().message;
    EXPECT_LE(move->writes() - before, 1);
    done = *worked;
  }
  EXPECT_EQ(4, move->writes());
  EXPECT_GE(slices, 7) << "four to look, four to write";
  EXPECT_EQ(Cpus("1-3"), host_.Now("kubepods/d"));
}

TEST_P(ApplyCpusTest, APlanThatTakesTheOthersPlaceGoesOnFromWhereThatWas) {
  Wanted wanted;
  for (const char* name : {"a", "b", "c", "d"}) {
    host_.Add(std::string("kubepods/") + name, Cpus("0-3"));
    wanted.emplace_back(std::string("kubepods/") + name, Cpus("1-3"));
  }
  const os::Slice over(os::SystemClock(), os::MonoTime());
  std::map<std::string, CpuSet> known{{"kubepods/gone", Cpus("0")}};
  int plans = 0;
  for (bool done = false; !done && plans < 20; ++plans) {
    auto move = CpuMove::Plan(wanted, std::exchange(known, {}));
    ASSERT_TRUE(move);
    const auto worked = move->Work(*host_.tree, over);
    ASSERT_TRUE(worked) << worked.error().message;
    done = *worked;
    move->TellLeaves(known);
    EXPECT_FALSE(known.contains("kubepods/gone"));
  }
  EXPECT_LT(plans, 20);
  for (const auto& [path, cpus] : wanted) EXPECT_EQ(cpus, host_.Now(path));
}

TEST_P(ApplyCpusTest, ParentsGrowBeforeAndShrinkAfterTheirChildren) {
  host_.Add("kubepods", Cpus("0-3"));
  host_.Add("kubepods/a", Cpus("0-1"));
  host_.fs.ClearLog();
  ASSERT_TRUE(ApplyCpus(*host_.tree, {{"kubepods/a", Cpus("4-5")}, {"kubepods", Cpus("4-7")}}));
  EXPECT_THAT(host_.fs.log(), ElementsAre(HasSubstr("kubepods/cpuset.cpus 0-7"), HasSubstr("a/cpuset.cpus 4-5"),
                                          HasSubstr("kubepods/cpuset.cpus 4-7")));
}

TEST_P(ApplyCpusTest, RefusesContradictionsBeforeWritingAnything) {
  host_.Add("kubepods/a", Cpus("0-1"));
  host_.fs.ClearLog();
  const Wanted bad[] = {{{"kubepods/a", CpuSet()}},
                        {{"kubepods/a", Cpus("1")}, {"kubepods/a", Cpus("2")}},
                        {{"kubepods", Cpus("0-1")}, {"kubepods/a", Cpus("1-2")}}};
  for (const Wanted& wanted : bad) EXPECT_EQ(Code::kInvalid, ApplyCpus(*host_.tree, wanted).error().code);
  EXPECT_THAT(host_.fs.log(), IsEmpty());
}

TEST_P(ApplyCpusTest, ContainersThatEndedAreSkipped) {
  host_.Add("kubepods/a", Cpus("0-7"));
  const auto done = ApplyCpus(*host_.tree, {{"kubepods/gone", Cpus("4")}, {"kubepods/a", Cpus("0-3")}});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(1, *done);
}

TEST(ApplyCpusV1Test, LevelsAboveMayBeTooNarrowAfterACpuCameBack) {
  PinnedHost host(false);
  host.Add("kubepods/burstable/p/a", Cpus("0-3"));
  for (const char* level : {"kubepods/burstable/p", "kubepods/burstable", "kubepods"})
    ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", "berth/" + std::string(level), "cpuset.cpus", "0-3"));
  EXPECT_EQ(4, *ApplyCpus(*host.tree, {{"kubepods/burstable/p/a", Cpus("4-7")}}));
  EXPECT_EQ(Cpus("4-7"), host.Now("kubepods/burstable/p/a"));
}

/// A node in the making: shared containers all have the pool, exclusive ones have sets of their own; plus a random
/// start.
class Scenario {
 public:
  Scenario(std::mt19937_64& random, int cpus, int containers) : random_(random), cpus_(cpus) {
    for (int i = 0; i < containers; ++i) paths_.push_back("kubepods/burstable/p" + std::to_string(i) + "/c");
  }

  /// A legal state: the pool is not empty and disjoint from every exclusive set, which are disjoint from each other.
  Wanted Next() {
    std::vector<std::uint32_t> ids;
    for (int i = 0; i < cpus_; ++i) ids.push_back(static_cast<std::uint32_t>(i));
    std::shuffle(ids.begin(), ids.end(), random_);
    CpuSet pool = CpuSet::Range(0, static_cast<std::uint32_t>(cpus_ - 1));
    Wanted out;
    std::vector<std::size_t> shared;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      out.emplace_back(paths_[i], CpuSet());
      const std::size_t want = random_() % 3;
      if (want == 0 || random_() % 2 == 0 || ids.size() < want + 2) {
        shared.push_back(i);
        continue;
      }
      for (std::size_t n = 0; n < want; ++n) out[i].second.Insert(CpuId{ids.back()}), ids.pop_back();
      pool -= out[i].second;
    }
    for (const std::size_t i : shared) out[i].second = pool;
    return out;
  }

 private:
  std::mt19937_64& random_;
  int cpus_;
  std::vector<std::string> paths_;
};

using State = std::map<std::string, CpuSet>;

State Observe(PinnedHost& host, const Wanted& wanted) {
  State out;
  for (const auto& [path, cpus] : wanted) out[path] = host.Now(path);
  return out;
}

/// CPUs two containers share now that they neither shared before nor shall share.
std::string NewOverlap(const State& before, const State& now, const Wanted& wanted) {
  const State then(wanted.begin(), wanted.end());
  for (const auto& [a, a_cpus] : now) {
    for (const auto& [b, b_cpus] : now) {
      if (a >= b) continue;
      const CpuSet allowed =
          (before.find(a)->second & before.find(b)->second) | (then.find(a)->second & then.find(b)->second);
      if (const CpuSet more = (a_cpus & b_cpus) - allowed; !more.empty())
        return a + " and " + b + " share " + FormatIds(more);
    }
  }
  return "";
}

class ApplyCpusPropertyTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Versions, ApplyCpusPropertyTest, ::testing::Bool(),
                         [](const auto& which) { return which.param ? "V2" : "V1"; });

/// As ApplyCpus, a single step in each slice.
Result<int> ApplyInPieces(Tree& tree, const Wanted& wanted) {
  BERTH_TRY(CpuMove move, CpuMove::Plan(wanted));
  const os::Slice over(os::SystemClock(), os::MonoTime());
  for (;;) {
    BERTH_TRY(const bool done, move.Work(tree, over));
    if (done) return move.writes();
  }
}

TEST_P(ApplyCpusPropertyTest, RandomChangesNeverOverlapOnTheWayAndAlwaysArrive) {
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int cpus = 3 + static_cast<int>(random() % 6);
    PinnedHost host(GetParam(), "0-" + std::to_string(cpus - 1));
    Scenario scenario(random, cpus, 2 + static_cast<int>(random() % 4));
    for (const auto& [path, set] : scenario.Next()) ASSERT_TRUE(host.tree->Create(path));
    for (int step = 0; step < 8; ++step) {
      const Wanted wanted = scenario.Next();
      const State before = Observe(host, wanted);
      std::string overlap;
      host.kernel.on_write = [&](const std::string& file, const std::string& text) {
        if (!overlap.empty()) return;
        overlap = NewOverlap(before, Observe(host, wanted), wanted);
        if (!overlap.empty()) overlap += " after " + file + " " + text;
      };
      const auto done = random() % 2 == 0 ? ApplyCpus(*host.tree, wanted) : ApplyInPieces(*host.tree, wanted);
      host.kernel.on_write = {};
      ASSERT_EQ("", overlap);
      if (!done) {
        ASSERT_EQ(Code::kBusy, done.error().code) << done.error().message;
        ++refused;
        break;
      }
      ASSERT_EQ(State(wanted.begin(), wanted.end()), Observe(host, wanted));
      ASSERT_EQ(0, *ApplyCpus(*host.tree, wanted)) << "arrived, so nothing is left to write";
    }
  }
  EXPECT_LE(refused, 2) << "only when no CPU can be lent";
}

/// What a set is after a write that failed is read, not taken from before it: the kernel may have taken it, or systemd
/// may still do so.
TEST_P(ApplyCpusPropertyTest, APlanThatTakesTheOthersPlaceReadsASetWhoseWriteFailed) {
  int failed = 0;
  for (int n = 0; n < 12; ++n) {
    PinnedHost host(GetParam());
    const Wanted wanted = {{"kubepods/a", Cpus("0-3")}, {"kubepods/b", Cpus("0-3")}, {"kubepods/x", Cpus("4-7")}};
    std::map<std::string, CpuSet> known;
    for (const auto& [path, cpus] : wanted) {
      host.Add(path, Cpus("0-7"));
      known.emplace(path, Cpus("0-7"));
    }
    testkit::FaultFs faulty(host.fs, {.at = n, .kind = testkit::FaultFs::Kind::kFail, .sys = EIO});
    auto tree = OpenTree(testkit::Share(faulty), *DiscoverLayout(host.fs), "berth", {});
    if (!tree) continue;  // the fault hit the start
    auto move = CpuMove::Plan(wanted, known);
    ASSERT_TRUE(move);
    const auto worked = move->Work(**tree, os::Slice());
    known.clear();
    move->TellLeaves(known);
    failed += worked ? 0 : 1;
    for (const auto& [path, cpus] : wanted)
      EXPECT_EQ(known.contains(path), worked || !worked.error().message.contains(path)) << n << " " << path;
  }
  EXPECT_EQ(3, failed) << "each of the sets once";
}

TEST_P(ApplyCpusPropertyTest, AFailedWriteLeavesNoNewOverlapAndARetryArrives) {
  for (int n = 0; n < 12; ++n) {
    PinnedHost host(GetParam());
    const Wanted start = {{"kubepods/a", Cpus("0-7")}, {"kubepods/b", Cpus("0-7")}, {"kubepods/x", Cpus("0-7")}};
    const Wanted wanted = {{"kubepods/a", Cpus("0-3")}, {"kubepods/b", Cpus("0-3")}, {"kubepods/x", Cpus("4-7")}};
    for (const auto& [path, cpus] : start) host.Add(path, cpus);
    testkit::FaultFs faulty(host.fs, {.at = n, .kind = testkit::FaultFs::Kind::kFail, .sys = EIO});
    auto tree = OpenTree(testkit::Share(faulty), *DiscoverLayout(host.fs), "berth", {});
    if (!tree) continue;  // the fault hit the start
    const State before = Observe(host, wanted);
    const auto first = ApplyCpus(**tree, wanted);
    if (!first) {
      EXPECT_EQ(EIO, first.error().sys);
      EXPECT_THAT(first.error().message, HasSubstr("cpuset.cpus"));
    }
    EXPECT_EQ("", NewOverlap(before, Observe(host, wanted), wanted));
    ASSERT_TRUE(ApplyCpus(**tree, wanted));
    EXPECT_EQ(State(wanted.begin(), wanted.end()), Observe(host, wanted));
  }
}

}  // namespace
}  // namespace berth::cgroup
