#include "daemon/usage_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "allocator/testing/builders.h"
#include "host/os/clock.h"
#include "testing/fixtures.h"

namespace berth::daemon {
namespace {

using namespace std::chrono_literals;

/// What groups and the host use, and how often that was looked at.
struct PlayedUsage {
  std::map<std::string, GroupUsage, std::less<>> groups;
  GroupUsage host;
  Bytes huge_pages{};
  std::map<CpuId, CpuBusy> cpus;
  std::atomic<int> looks = 0;
  os::Millis looking{0};           ///< how long it takes
  std::vector<std::string> order;  ///< groups as they were read; "host"
};

class PlayedTree final : public cgroup::Tree {
 public:
  explicit PlayedTree(PlayedUsage& usage) : usage_(usage) {}
  Result<std::optional<GroupUsage>> Usage(std::string_view path) override {
    usage_.order.emplace_back(path);
    const auto it = usage_.groups.find(path);
    return it == usage_.groups.end() ? std::optional<GroupUsage>() : it->second;
  }
  Result<std::optional<HostUsage>> UsageOfHost(const NodeSet&) override {
    ++usage_.looks;
    usage_.order.emplace_back("host");
    std::this_thread::sleep_for(usage_.looking);
    return HostUsage{.all = usage_.host,
                     .memory = GiB(8),
                     .huge_pages = usage_.huge_pages,
                     .booted_at = {},
                     .nodes = {},
                     .cpus = usage_.cpus};
  }
  const cgroup::Layout& layout() const override { return layout_; }
  Result<void> Create(std::string_view) override { return {}; }
  Result<int> Write(std::string_view, const CgroupValues&) override { return 0; }
  Result<CgroupValues> Read(std::string_view) override { return CgroupValues(); }
  Result<std::vector<int>> Pids(std::string_view) override { return std::vector<int>(); }
  Result<void> Kill(std::string_view, os::Millis) override { return {}; }
  Result<void> Remove(std::string_view, os::Millis) override { return {}; }
  Result<std::vector<std::string>> Children(std::string_view) override { return std::vector<std::string>(); }
  CgroupDirs Dirs(std::string_view) const override { return {}; }
  std::uint64_t writes() const override { return 0; }

 private:
  PlayedUsage& usage_;
  cgroup::Layout layout_;
};

GroupUsage Using(std::chrono::nanoseconds cpu, Bytes working_set) {
  GroupUsage out;
  out.cpu = cpu;
  out.working_set = working_set;
  return out;
}

/// One pod with a container that runs and one that has ended.
std::shared_ptr<const LoopState> OnePod(KubeletVersion version = kDefaultKubeletVersion) {
  auto out = std::make_shared<LoopState>();
  auto made = allocator::Node::Make(allocator::testing::MakeMachine({}), allocator::testing::StaticConfig("0"),
                                    {.kubelet_version = version});
  EXPECT_TRUE(made) << made.error().message;
  out->engine = std::make_shared<const allocator::Node>(*made);
  out->node.machine = std::shared_ptr<const Machine>(out->engine, &out->engine->machine());
  auto groups = std::make_shared<cgroup_manager::Picture>();
  groups->groups.pods["u1"] = "kubepods/podu1";
  out->groups = groups;
  DaemonStatus status;
  status.node_name = "n1";
  out->node.status = std::make_shared<const DaemonStatus>(status);
  PodView pod;
  pod.uid = "u1";
  pod.name = "web";
  pod.qos = QosClass::kGuaranteed;
  for (const auto& [name, phase] : {std::pair("app", ContainerPhase::kRunning), {"init", ContainerPhase::kExited}}) {
    ContainerView& container = pod.containers.emplace_back();
    container.name = name;
    container.phase = phase;
    container.place = ContainerPlace{.cgroup = std::string("kubepods/podu1/") + name};
  }
  out->node.pods.push_back({.view = std::make_shared<const PodView>(std::move(pod))});
  return out;
}

struct UsageReaderTest : testing::Test {
  UsageReaderTest() {
    usage.groups["kubepods"] = Using(10s, MiB(20));
    usage.groups["kubepods/podu1"] = Using(5s, MiB(10));
    usage.groups["kubepods/podu1/app"] = Using(4s, MiB(9));
    usage.groups["kubepods/podu1/init"] = Using(1s, MiB(1));
    usage.host = Using(100s, MiB(500));
  }
  UsageReader::OpenTree Open() {
    return [this]() -> Result<std::unique_ptr<cgroup::Tree>> {
      if (broken) return Fail(Code::kIo, "no cgroups");
      return std::make_unique<PlayedTree>(usage);
    };
  }

  PlayedUsage usage;
  bool broken = false;
  testkit::ManualClock clock;
  Published<LoopState> published{OnePod()};
};

TEST_F(UsageReaderTest, ReadsPodsTheirRunningContainersTiersAndTheHost) {
  UsageReader reader(published, Open(), clock);
  const auto read = reader.Get();
  ASSERT_TRUE(read) << read.error().message;
  const NodeUsage& seen = **read;
  EXPECT_EQ(seen.node_name, "n1");
  EXPECT_EQ(seen.host.all.cpu, 100s);
  EXPECT_EQ(seen.groups.at("pods").cpu, 10s);
  EXPECT_EQ(seen.groups.at("guaranteed").working_set, MiB(10)) << "the sum of its pods";
  EXPECT_FALSE(seen.groups.at("guaranteed").cpu);
  EXPECT_FALSE(seen.groups.contains("burstable")) << "there is no such group";
  ASSERT_EQ(seen.pods.size(), 1U);
  EXPECT_EQ(seen.pods[0].usage.cpu, 5s);
  ASSERT_EQ(seen.pods[0].containers.size(), 1U) << "what has ended uses nothing";
  EXPECT_EQ(seen.pods[0].containers.at("app").cpu, 4s);
  EXPECT_FALSE(seen.pods[0].containers.at("app").cores) << "there was no look before";
}

TEST_F(UsageReaderTest, HugePagesAreMemoryInUseAndFrom137OnApart) {
  usage.huge_pages = MiB(100);
  for (const KubeletVersion version : kKubeletVersions) {
    published.Put(OnePod(version));
    UsageReader reader(published, Open(), clock);
    const auto read = reader.Get();
    ASSERT_TRUE(read) << read.error().message;
    const bool in_use = version == KubeletVersion::k1_36;
    EXPECT_EQ((*read)->host.all.working_set, in_use ? MiB(600) : MiB(500)) << Name(version);
    EXPECT_EQ((*read)->host.huge_pages, in_use ? Bytes() : MiB(100)) << Name(version);
  }
}

TEST_F(UsageReaderTest, WhatIsInAGroupIsReadBeforeItSoThatItsTimesAreNotLess) {
  UsageReader reader(published, Open(), clock);
  ASSERT_TRUE(reader.Get());
  const auto at = [&](std::string_view path) { return std::ranges::find(usage.order, path); };
  EXPECT_LT(at("kubepods/podu1/app"), at("kubepods/podu1"));
  EXPECT_LT(at("kubepods/podu1"), at("kubepods"));
  EXPECT_LT(at("kubepods/burstable"), at("kubepods"));
  EXPECT_LT(at("kubepods"), at("host"));
  EXPECT_NE(at("host"), usage.order.end());
}

TEST_F(UsageReaderTest, WithinASecondTheSameReadingIsGiven) {
  UsageReader reader(published, Open(), clock);
  const auto first = reader.Get();
  clock.Advance(999ms);
  EXPECT_EQ(*reader.Get(), *first);
  EXPECT_EQ(usage.looks, 1);
  clock.Advance(1ms);
  EXPECT_NE(*reader.Get(), *first);
  EXPECT_EQ(usage.looks, 2);
}

TEST_F(UsageReaderTest, CoresAreTheCpuTimeBetweenTwoLooks) {
  usage.cpus = {{CpuId{0}, {.time = 9s}}, {CpuId{1}, {.time = 9s}}};
  UsageReader reader(published, Open(), clock);
  ASSERT_TRUE(reader.Get());
  clock.Advance(2s);
  usage.groups["kubepods/podu1/app"].cpu = 5s;
  usage.groups["kubepods/podu1"].cpu = 4s;
  usage.host.cpu = 103s;
  usage.cpus = {{CpuId{0}, {.time = 9500ms}}, {CpuId{1}, {.time = 99s}}, {CpuId{2}, {.time = 1s}}};
  const auto now = *reader.Get();
  EXPECT_DOUBLE_EQ(*now->pods[0].containers.at("app").cores, 0.5);
  EXPECT_FALSE(now->pods[0].usage.cores) << "it began anew";
  EXPECT_DOUBLE_EQ(*now->host.all.cores, 1.5);
  EXPECT_DOUBLE_EQ(*now->host.cpus.at(CpuId{0}).used, 0.25);
  EXPECT_DOUBLE_EQ(*now->host.cpus.at(CpuId{1}).used, 1) << "the kernel's ticks are coarse";
  EXPECT_FALSE(now->host.cpus.at(CpuId{2}).used) << "it came online meanwhile";
  EXPECT_DOUBLE_EQ(*now->groups.at("pods").cores, 0);
  clock.Advance(UsageReader::kLongestSpan + 1ms);
  EXPECT_FALSE((*reader.Get())->host.all.cores) << "a mean of minutes is nothing that somebody wants to see";
}

TEST_F(UsageReaderTest, ManyAskersShareOneLook) {
  usage.looking = 50ms;
  UsageReader reader(published, Open(), clock);
  std::vector<std::shared_ptr<const NodeUsage>> got(8);
  {
    std::vector<std::jthread> askers;
    for (auto& out : got)
      askers.emplace_back([&reader, &out] {
        if (auto read = reader.Get()) out = *std::move(read);
      });
  }
  EXPECT_EQ(usage.looks, 1);
  for (const auto& out : got) EXPECT_EQ(out, got.front());
  EXPECT_NE(got.front(), nullptr);
}

TEST_F(UsageReaderTest, WhatCannotBeReadIsTriedAgain) {
  broken = true;
  UsageReader reader(published, Open(), clock);
  EXPECT_FALSE(reader.Get());
  broken = false;
  EXPECT_TRUE(reader.Get());
}

TEST_F(UsageReaderTest, BerthdsOwnFiguresAreThere) {
  const metrics::ProcessFigures own = OwnFigures();
  EXPECT_GT(own.cpu.value_or(0ns), 0ns);
  EXPECT_GT(own.resident.value_or(Bytes{}).v, 100'000);
}

}  // namespace
}  // namespace berth::daemon
