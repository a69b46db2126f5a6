// berthd beside a kubelet on a machine with several NUMA nodes (a guest of tests/vm): pods come and go, and after each
// step the kernel's cpusets are what the ledger says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/codec.h"
#include "base/id_set.h"
#include "base/text.h"
#include "daemon_nri_fixture.h"
#include "host/machine/load_machine.h"

namespace berth {
namespace {

struct NriManyNodesTest : DaemonNriTest {
  void SetUp() override {
    DaemonNriTest::SetUp();
    if (IsSkipped()) return;
    auto loaded = machine::LoadThisHost();
    ASSERT_TRUE(loaded) << loaded.error().message;
    machine = *std::move(loaded);
    if (machine.nodes.size() < 4 || machine.online.Count() < 16) GTEST_SKIP() << "needs four NUMA nodes and 16 CPUs";
    berthd->Configure("topologyManagerPolicy: single-numa-node\n");
  }
  CpuSet Set(const std::string& id) const { return CpuSet::Parse(CpusOf(id)).value_or(CpuSet()); }
  /// What is wrong now; "": each owner is alone and on one node, everybody else on the rest.
  std::string Wrong() {
    const codec::Json ledger = berthd->Get("/v1/ledger");
    const CpuSet shared = CpuSet::Parse(ledger.value("shared", "")).value_or(CpuSet());
    CpuSet owned;
    for (const auto& [uid, pod] : pods) {
      const CpuSet now = Set(pod.container);
      if (!own.contains(uid)) {
        if (now != shared) return uid + " shares, and is on " + FormatIds(now) + " in place of " + FormatIds(shared);
        continue;
      }
      if (now.Count() != 2) return uid + " has " + FormatIds(now);
      if (now.Intersects(owned) || now.Intersects(shared)) return uid + " is not alone on " + FormatIds(now);
      if (std::ranges::none_of(machine.nodes,
                               [&](const NumaNode& node) { return (now - CpusOfNode(machine, node.id)).empty(); }))
        return uid + " is on two nodes: " + FormatIds(now);
      owned |= now;
    }
    return (owned | shared) == machine.online ? "" : "CPUs are lost: " + FormatIds(machine.online - owned - shared);
  }
  void Add(const std::string& uid, const std::string& tier, int milli) {
    pods[uid] = RunWhole(uid, tier, milli);
    if (milli == 2000 && tier.empty()) own.insert(uid);
  }
  void Remove(const std::string& uid) {
    End(pods[uid]);
    pods.erase(uid);
    own.erase(uid);
    EXPECT_TRUE(berthd->Until("it has gone", [&] { return Gone(uid); }));
  }

  Machine machine;
  std::map<std::string, PodOnNode> pods;
  std::set<std::string> own;
};

/// BERTH_CRI_ROUNDS: how many steps.
TEST_F(NriManyNodesTest, WhoeverHasCpusIsAloneOnOneNodeWhileDeploymentsAreScaled) {
  StartAndJoin();
  const char* const text = std::getenv("BERTH_CRI_ROUNDS");
  const int steps = text == nullptr ? 10 : ParseDecimal<int>(text).value_or(10);
  std::mt19937 random(20261124);
  const int most = machine.online.Count() / 4;  // of each kind
  for (int step = 0; step < steps; ++step) {
    const int guaranteed = std::uniform_int_distribution<int>(0, most - 1)(random);
    const int others = std::uniform_int_distribution<int>(0, 2)(random);
    const std::map<std::string, std::pair<std::string, int>> kinds = {
        {"own", {"", 2000}}, {"part", {"burstable", 500}}, {"best", {"besteffort", 0}}};
    for (const auto& [kind, how] : kinds) {
      const int wanted = kind == "own" ? guaranteed : others;
      for (int i = 0; i < most; ++i) {
        const std::string uid = kind + std::to_string(i);
        if (i < wanted && !pods.contains(uid)) Add(uid, how.first, how.second);
        if (i >= wanted && pods.contains(uid)) Remove(uid);
      }
    }
    EXPECT_TRUE(berthd->Until("all is as the ledger says", [&] { return Wrong().empty(); })) << step << ": " << Wrong();
  }
  EXPECT_EQ("", berthd->Repairs()) << berthd->output();
}

}  // namespace
}  // namespace berth
