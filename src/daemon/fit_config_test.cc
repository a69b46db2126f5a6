#include "daemon/fit_config.h"

#include <gtest/gtest.h>

#include "host/machine/load_machine.h"

namespace berth::daemon {
namespace {

Machine MachineOf(const char* text) {
  auto machine = machine::ParseSynthetic(text);
  EXPECT_TRUE(machine) << machine.error().message;
  return *machine;
}

TEST(FitConfigTest, WhatExistsStaysAsItIs) {
  KubeletConfiguration config;
  config.reserved_system_cpus = "0-1";
  config.reserved_memory = {{NumaId{1}, {{"memory", *Quantity::Parse("1Gi")}}}};
  const KubeletConfiguration before = config;
  EXPECT_TRUE(FitToMachine(config, MachineOf("numa:2 core:2 pu:1")).empty());
  EXPECT_EQ(config, before);
}

TEST(FitConfigTest, ReservedCpusThatAreGoneAreLeftOut) {
  KubeletConfiguration config;
  config.reserved_system_cpus = "0,6-7";
  EXPECT_EQ(FitToMachine(config, MachineOf("core:4 pu:1")).size(), 1U);
  EXPECT_EQ(config.reserved_system_cpus, "0");
  config.reserved_system_cpus = "6-7";
  EXPECT_EQ(FitToMachine(config, MachineOf("core:4 pu:1")).size(), 1U);
  EXPECT_EQ(config.reserved_system_cpus, "0-1");
  config.reserved_system_cpus = "0-7";
  EXPECT_EQ(FitToMachine(config, MachineOf("core:4 pu:1")).size(), 1U);
  EXPECT_EQ(config.reserved_system_cpus, "0-2") << "one CPU stays for pods";
}

TEST(FitConfigTest, MemoryReservedOnANodeThatIsGoneMovesToTheLowest) {
  KubeletConfiguration config;
  config.reserved_memory = {{NumaId{0}, {{"memory", *Quantity::Parse("1Gi")}}},
                            {NumaId{5}, {{"memory", *Quantity::Parse("2Gi")}}}};
  EXPECT_EQ(FitToMachine(config, MachineOf("numa:2 core:2 pu:1")).size(), 1U);
  ASSERT_EQ(config.reserved_memory.size(), 1U);
  EXPECT_EQ(config.reserved_memory.front().limits.find("memory")->second.Value(), GiB(3).v);
}

}  // namespace
}  // namespace berth::daemon
