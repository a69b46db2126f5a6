#include "model/machine_change.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace berth {
namespace {

using Threads = std::vector<std::vector<unsigned>>;  // of each core

NumaNode Node(unsigned id, Bytes memory, const Threads& cores) {
  NumaNode out{.id = NumaId{id}, .memory = memory};
  for (const std::vector<unsigned>& threads : cores) {
    Core& core = out.cores.emplace_back();
    core.core_id = threads.front();
    core.socket = SocketId{id};
    for (const unsigned cpu : threads) core.threads.push_back(CpuId{cpu});
  }
  return out;
}

Machine Make(std::vector<NumaNode> nodes) {
  Machine out;
  out.nodes = std::move(nodes);
  out.online = out.present = UsableCpus(out);
  out.reported_cpus = out.online.Count();
  for (NumaNode& node : out.nodes) {
    out.memory += node.memory;
    out.reported_cores += static_cast<int>(node.cores.size());
    for (const NumaNode& to : out.nodes) node.distances.push_back(node.id == to.id ? 10 : 21);
  }
  out.reported_sockets = static_cast<int>(out.nodes.size());
  return out;
}

const Machine kWhole = Make({Node(0, GiB(4), {{0, 4}, {1, 5}}), Node(1, GiB(4), {{2, 6}, {3, 7}})});

TEST(MachineChangeTest, CpusThatAreOfflineStayInTheirCores) {
  EXPECT_EQ(WithCpusOf(Make({Node(0, GiB(4), {{0, 4}, {1}}), Node(1, GiB(4), {{2, 6}})}), kWhole), kWhole);
}

TEST(MachineChangeTest, WhatCameIsThereBesideWhatIsOffline) {
  const Machine now = Make({Node(0, GiB(8), {{0, 4}, {1}, {8, 12}}), Node(1, GiB(4), {{2, 6}, {3, 7}})});
  const Machine joined = WithCpusOf(now, kWhole);
  EXPECT_EQ(FormatIds(CpusOfNode(joined, NumaId{0})), "0-1,4-5,8,12");
  ASSERT_EQ(joined.nodes[0].cores.size(), 3U);
  EXPECT_EQ(joined.nodes[0].cores[1].threads, (std::vector{CpuId{1}, CpuId{5}}));
  EXPECT_EQ(joined.nodes[0].memory, GiB(8));
  EXPECT_EQ(joined.reported_cpus, 10);
}

TEST(MachineChangeTest, ANodeOfWhichOnlyCpusThatAreOfflineAreLeftHasNoMemoryAndItsDistances) {
  const Machine joined = WithCpusOf(Make({Node(0, GiB(4), {{0, 4}, {1, 5}})}), kWhole);
  ASSERT_EQ(joined.nodes.size(), 2U);
  EXPECT_EQ(joined.nodes[1].memory, Bytes());
  EXPECT_EQ(FormatIds(CpusOfNode(joined, NumaId{1})), "2-3,6-7");
  EXPECT_EQ(joined.nodes[0].distances, (std::vector{10U, 21U}));
  EXPECT_EQ(joined.nodes[1].distances, (std::vector{21U, 10U}));
}

TEST(MachineChangeTest, ACpuThatIsSomewhereElseNowIsNotTwoCpus) {
  const Machine now = Make({Node(0, GiB(4), {{0, 4}}), Node(1, GiB(4), {{2, 6}, {1, 5}})});
  const Machine joined = WithCpusOf(now, kWhole);
  EXPECT_EQ(FormatIds(CpusOfNode(joined, NumaId{0})), "0,4");
  EXPECT_EQ(FormatIds(CpusOfNode(joined, NumaId{1})), "1-3,5-7");
}

TEST(MachineChangeTest, MemoryIsTheSameWhateverCpusThereAreAndEmptyNodesDoNotCount) {
  Machine other = Make({Node(1, GiB(4), {}), Node(0, GiB(4), {}), Node(7, Bytes(), {})});
  EXPECT_TRUE(SameMemory(kWhole, other));
  other.nodes[0].hugepages = {{MiB(2), 0}};
  EXPECT_TRUE(SameMemory(kWhole, other));
  other.nodes[0].hugepages = {{MiB(2), 3}};
  EXPECT_FALSE(SameMemory(kWhole, other));
}

TEST(MachineChangeTest, WhatCameAndWhatWentIsSaid) {
  EXPECT_EQ(DescribeChange(kWhole, kWhole).text, "");
  Machine more = Make({Node(0, GiB(4), {{0, 4}, {1, 5}}), Node(1, GiB(6), {{2, 6}, {3, 7}}), Node(2, GiB(1), {{8}})});
  more.nodes[0].hugepages = {{MiB(2), 10}};
  const MachineChange grown = DescribeChange(kWhole, more);
  EXPECT_EQ(
      grown.text,
      "CPUs 8 joined; NUMA nodes 2 joined; node 0 has 10 huge pages of 2Mi (was 0); node 1 has 6Gi of memory (was "
      "4Gi); node 2 has 1Gi of memory (was 0)");
  EXPECT_FALSE(grown.loses);
  const MachineChange shrunk = DescribeChange(more, kWhole);
  EXPECT_TRUE(shrunk.loses);
  EXPECT_EQ(shrunk.text,
            "CPUs 8 are gone; NUMA nodes 2 are gone; node 0 has 0 huge pages of 2Mi (was 10); node 1 has 4Gi of memory "
            "(was 6Gi); node 2 has no memory (was 1Gi)");
}

}  // namespace
}  // namespace berth
