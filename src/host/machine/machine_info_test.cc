#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "host/machine/load_machine.h"

namespace berth::machine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTwoNodes = R"({
  "num_cores": 5, "num_physical_cores": 3, "num_sockets": 2, "memory_capacity": 4096,
  "hugepages": [{"page_size": 2048, "num_pages": 7}], "machine_id": "ignored",
  "topology": [
    {"node_id": 0, "memory": 3072, "hugepages": [{"page_size": 2048, "num_pages": 4}],
     "cores": [{"core_id": 0, "thread_ids": [0, 4], "socket_id": 0, "caches": null,
                "uncore_caches": [{"id": 9, "size": 33554432, "type": "Unified", "level": 3}]},
               {"core_id": 1, "thread_ids": [1], "socket_id": 0, "uncore_caches": null}],
     "distances": [10, 21]},
    {"node_id": 255, "memory": 1024, "cores": [{"core_id": 0, "thread_ids": [3, 2], "socket_id": 1}],
     "caches": [{"id": 4, "size": 1024, "type": "Unified", "level": 3}], "distances": [21, 10]}]})";

std::string ErrorOf(std::string_view json) {
  const Result<Machine> machine = ParseMachineInfo(json, "m.json");
  return machine ? "no error" : machine.error().message;
}

TEST(MachineInfoTest, KeepsEveryFieldThatDecisionsUse) {
  const Result<Machine> machine = ParseMachineInfo(kTwoNodes, "m.json");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(5, machine->reported_cpus);
  EXPECT_EQ(3, machine->reported_cores);
  EXPECT_EQ(2, machine->reported_sockets);
  EXPECT_EQ(4096, machine->memory.v);
  EXPECT_THAT(machine->hugepages, ElementsAre(HugePages{MiB(2), 7}));
  ASSERT_EQ(2u, machine->nodes.size());
  const NumaNode& first = machine->nodes[0];
  EXPECT_EQ(NumaId{0}, first.id);
  EXPECT_EQ(3072, first.memory.v);
  EXPECT_THAT(first.hugepages, ElementsAre(HugePages{MiB(2), 4}));
  ASSERT_EQ(2u, first.cores.size());
  EXPECT_THAT(first.cores[0].threads, ElementsAre(CpuId{0}, CpuId{4}));
  EXPECT_THAT(first.cores[0].uncore, ElementsAre(UncoreCache{CacheId{9}, MiB(32), "Unified", 3}));
  EXPECT_TRUE(first.cores[1].uncore.empty());
  EXPECT_THAT(first.distances, ElementsAre(10u, 21u));
  const NumaNode& second = machine->nodes[1];
  EXPECT_EQ(NumaId{255}, second.id);
  EXPECT_THAT(second.cores[0].threads, ElementsAre(CpuId{3}, CpuId{2}));
  EXPECT_EQ(CoreId{2}, IdOf(second.cores[0]));
  EXPECT_EQ(SocketId{1}, second.cores[0].socket);
  EXPECT_EQ("0-4", FormatIds(machine->online));
  EXPECT_EQ("0-4", FormatIds(machine->present));
}

TEST(MachineInfoTest, MakesL3GroupsFromUncoreAndNodeCaches) {
  const Result<Machine> machine = ParseMachineInfo(kTwoNodes, "m.json");
  ASSERT_TRUE(machine);
  EXPECT_THAT(machine->l3, ElementsAre(L3Group{CacheId{9}, MiB(32), CpuSet{CpuId{0}, CpuId{4}}},
                                       L3Group{CacheId{4}, KiB(1), CpuSet{CpuId{2}, CpuId{3}}}));
}

TEST(MachineInfoTest, ReadsBackWhatItWrote) {
  const Result<Machine> machine = ParseMachineInfo(kTwoNodes, "m.json");
  ASSERT_TRUE(machine);
  const Result<Machine> again = ParseMachineInfo(FormatMachineInfo(*machine), "m.json");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*machine, *again);
}

TEST(MachineInfoTest, CountsTotalsThatAreNotStated) {
  const Result<Machine> machine = ParseMachineInfo(R"({"topology": [
      {"node_id": 1, "memory": 5, "hugepages": [{"page_size": 4, "num_pages": 2}],
       "cores": [{"core_id": 7, "thread_ids": [0, 1], "socket_id": 3}]},
      {"node_id": 0, "memory": 6, "hugepages": [{"page_size": 4, "num_pages": 3}]}]})",
                                                   "m.json");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(2, machine->reported_cpus);
  EXPECT_EQ(1, machine->reported_cores);
  EXPECT_EQ(1, machine->reported_sockets);
  EXPECT_EQ(11, machine->memory.v);
  EXPECT_THAT(machine->hugepages, ElementsAre(HugePages{KiB(4), 5}));
  EXPECT_EQ(NumaId{1}, machine->nodes[0].id) << "the order of the file is the discovery order";
}

TEST(MachineInfoTest, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(ErrorOf("{"), HasSubstr("MachineInfo m.json: not JSON"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("not JSON"));
  EXPECT_EQ("MachineInfo m.json: top level: expected an object, got a list", ErrorOf("[]"));
  EXPECT_THAT(ErrorOf("{}"), HasSubstr("topology is missing"));
  EXPECT_EQ("MachineInfo m.json: topology: expected a list, got an object", ErrorOf(R"({"topology": {}})"));
  EXPECT_EQ("MachineInfo m.json: topology[0]: node_id is missing", ErrorOf(R"({"topology": [{}]})"));
  EXPECT_EQ("MachineInfo m.json: topology[0].node_id: expected a whole number from 0 to 8191, got -1",
            ErrorOf(R"({"topology": [{"node_id": -1}]})"));
  EXPECT_EQ("MachineInfo m.json: topology[0].cores[0].thread_ids[1]: expected a whole number from 0 to 8191, got 8192",
            ErrorOf(R"({"topology": [{"node_id": 0, "cores": [{"thread_ids": [0, 8192]}]}]})"));
  EXPECT_EQ("MachineInfo m.json: topology[0].memory: expected a whole number, got 1.5",
            ErrorOf(R"({"topology": [{"node_id": 0, "memory": 1.5}]})"));
  EXPECT_EQ("MachineInfo m.json: memory_capacity: expected a whole number, got \"4Gi\"",
            ErrorOf(R"({"topology": [], "memory_capacity": "4Gi"})"));
  EXPECT_EQ("MachineInfo m.json: topology[0].hugepages[0]: page_size (KiB) is missing or 0",
            ErrorOf(R"({"topology": [{"node_id": 0, "hugepages": [{}]}]})"));
  EXPECT_THAT(ErrorOf(R"({"topology": [], "num_cores": 99999999999999999999})"), HasSubstr("num_cores: expected"));
}

TEST(MachineInfoTest, RefusesMachinesThatContradictThemselves) {
  EXPECT_THAT(ErrorOf(R"({"topology": [{"node_id": 3}, {"node_id": 3}]})"),
              HasSubstr("NUMA node 3 is described twice"));
  EXPECT_THAT(ErrorOf(R"({"topology": [{"node_id": 0, "cores": [{"core_id": 5}]}]})"),
              HasSubstr("NUMA node 0: core 5 has no threads"));
  EXPECT_THAT(ErrorOf(R"({"topology": [{"node_id": 0, "cores": [{"thread_ids": [2, 2]}]}]})"),
              HasSubstr("CPU 2 belongs to two cores"));
  EXPECT_THAT(ErrorOf(R"({"topology": [{"node_id": 0, "memory": 9000000000000000000},
                                       {"node_id": 1, "memory": 9000000000000000000}]})"),
              HasSubstr("memory is too large"));
  EXPECT_THAT(
      ErrorOf(R"({"topology": [{"node_id": 0, "hugepages": [{"page_size": 4, "num_pages": 9000000000000000000}]}]})"),
      HasSubstr("too large"));
  EXPECT_THAT(ErrorOf(R"({"topology": [
                  {"node_id": 0, "hugepages": [{"page_size": 4, "num_pages": 2000000000000000}]},
                  {"node_id": 1, "hugepages": [{"page_size": 8, "num_pages": 1000000000000000}]}]})"),
              HasSubstr("too large"));
}

TEST(MachineInfoTest, SurvivesDeepNesting) {
  const std::string deep = R"({"topology": )" + std::string(200000, '[') + std::string(200000, ']') + "}";
  EXPECT_THAT(ErrorOf(deep), HasSubstr("topology[0]: expected an object, got a list"));
}

}  // namespace
}  // namespace berth::machine
