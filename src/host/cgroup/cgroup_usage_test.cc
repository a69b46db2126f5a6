#include "host/cgroup/cgroup_usage.h"

#include <gtest/gtest.h>

#include "host/cgroup/host_tree.h"
#include "testing/fault_fs.h"
#include "testing/memory_fs.h"

namespace berth::cgroup {
namespace {

using namespace std::chrono_literals;
using testkit::MemoryFs;

TEST(UsageTest, StallsAreTotals) {
  const auto stall = ParseStall(
      "some avg10=0.12 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=56\n");
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->some, 1234us);
  EXPECT_EQ(stall->full, 56us);
  EXPECT_EQ(stall->some_lately, 0.12);
  EXPECT_EQ(stall->full_lately, 0);
  EXPECT_EQ(ParseStall("some avg10=0.12 total=7\n")->full, 0us) << "cpu.pressure of kernels before 5.13";
  EXPECT_FALSE(ParseStall(""));
  EXPECT_FALSE(ParseStall("some avg10=0.12 total=x\n"));
}

TEST(UsageTest, CpuStatIsInMicrosecondsOnV2AndNanosecondsOnV1) {
  GroupUsage v2;
  ParseCpuStat("usage_usec 1500000\nuser_usec 1\nnr_periods 20\nnr_throttled 5\nthrottled_usec 250000\n", true, v2);
  EXPECT_EQ(v2.cpu, 1500ms);
  EXPECT_EQ(v2.throttling, (Throttling{.periods = 20, .throttled = 5, .time = 250ms}));
  GroupUsage v1;
  ParseCpuStat("nr_periods 20\nnr_throttled 5\nthrottled_time 250000000\n", false, v1);
  EXPECT_FALSE(v1.cpu) << "that is cpuacct's";
  EXPECT_EQ(v1.throttling, v2.throttling);
  GroupUsage without_quota;
  ParseCpuStat("usage_usec 7\nuser_usec 1\nsystem_usec 2\n", true, without_quota);
  EXPECT_EQ(without_quota.cpu, 7us);
  EXPECT_FALSE(without_quota.throttling);
}

TEST(UsageTest, TheWorkingSetIsNeverBelowNothing) {
  GroupUsage usage;
  usage.memory = Bytes{1000};
  ParseMemoryStat("anon 300\ninactive_file 400\npgfault 9\npgmajfault 1\n", true, usage);
  EXPECT_EQ(usage.working_set, Bytes{600});
  EXPECT_EQ(usage.anonymous, Bytes{300});
  EXPECT_EQ(usage.page_faults, 9U);
  EXPECT_EQ(usage.major_page_faults, 1U);
  ParseMemoryStat("inactive_file 4000\n", true, usage);
  EXPECT_EQ(usage.working_set, Bytes{0});
  ParseMemoryStat("inactive_file 400\ntotal_inactive_file 100\ntotal_rss 5\ntotal_swap 6\n", false, usage);
  EXPECT_EQ(usage.working_set, Bytes{900}) << "of everything below it too";
  EXPECT_EQ(usage.anonymous, Bytes{5});
  EXPECT_EQ(usage.swap, Bytes{6});
}

TEST(UsageTest, TheHostsTimeIsWhatIsNeitherIdleNorWaitingNorCountedTwice) {
  const HostUsage host = ParseHost("cpu  100 20 30 4000 500 6 7 8 90 10\ncpu0 1 1 1 1 1 1 1 1 1 1\nbtime 1700000000\n",
                                   "MemTotal: 1000 kB\nMemFree: 200 kB\nInactive(file): 300 kB\nAnonPages: 50 kB\n"
                                   "SwapTotal: 40 kB\nSwapFree: 10 kB\n",
                                   "pgfault 12\npgmajfault 3\n", 100);
  EXPECT_EQ(host.all.cpu, 1710ms) << "100 + 20 + 30 + 6 + 7 + 8 ticks of 10 ms";
  EXPECT_EQ(host.booted_at, WallTime(1'700'000'000s));
  EXPECT_EQ(host.memory, Bytes{1000 * 1024});
  EXPECT_EQ(host.all.memory, Bytes{800 * 1024});
  EXPECT_EQ(host.all.working_set, Bytes{500 * 1024});
  EXPECT_EQ(host.all.anonymous, Bytes{50 * 1024});
  EXPECT_EQ(host.all.swap, Bytes{30 * 1024});
  EXPECT_EQ(host.all.page_faults, 12U);
  EXPECT_EQ(ParseHost("", "", "", 100), HostUsage());
  ASSERT_EQ(host.cpus.size(), 1U);
  EXPECT_EQ(host.cpus.at(CpuId{0}).time, 60ms) << "six of its ten times, in hundredths of a second";
  EXPECT_TRUE(ParseHost("cpu 1 2\ncpux 1 1 1 1 1 1 1 1\nintr 5\ncpu7 1 1 1 1 1 1 1 1\n", "", "", 100).cpus.empty());
}

TEST(UsageTest, HugePagesAreOfTheHostsMemoryAndNotOfWhatIsUsed) {
  const char* const meminfo =
      "MemTotal: 1000 kB\nMemFree: 200 kB\nInactive(file): 100 kB\nHugePages_Total: 1\nHugetlb: 300 kB\n";
  const HostUsage host = ParseHost("", meminfo, "", 100);
  EXPECT_EQ(host.memory, Bytes{1000 * 1024});
  EXPECT_EQ(host.huge_pages, Bytes{300 * 1024});
  EXPECT_EQ(host.all.memory, Bytes{500 * 1024});
  EXPECT_EQ(host.all.working_set, Bytes{400 * 1024});
}

TEST(UsageTest, MemoryOfANumaNodeIsReadFromItsOwnFile) {
  const auto memory = ParseNumaMemory("Node 0 MemTotal:  16 kB\nNode 0 MemFree:  4 kB\nNode 0 MemUsed:  12 kB\n");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total, Bytes{16 * 1024});
  EXPECT_EQ(memory->free, Bytes{4 * 1024});
  EXPECT_FALSE(ParseNumaMemory("MemTotal: 16 kB\n"));
}

TEST(UsageTest, MemoryByNodeIsInBytesOnV2AndInPagesOnV1) {
  using ByNode = std::map<NumaId, Bytes>;
  EXPECT_EQ(ParseNumaStat("anon N0=4096 N1=8192\nfile N0=1 N1=2\nfile_mapped N0=9 N1=9\n", true, 4096),
            (ByNode{{NumaId{0}, Bytes{4097}}, {NumaId{1}, Bytes{8194}}}));
  EXPECT_EQ(ParseNumaStat("total=9 N0=9 N1=0\nanon=3 N0=3\nhierarchical_total=12 N0=2 N1=10\n", false, 4096),
            (ByNode{{NumaId{0}, Bytes{2 * 4096}}, {NumaId{1}, Bytes{10 * 4096}}}));
  EXPECT_EQ(ParseNumaStat("", true, 4096), ByNode());
  EXPECT_EQ(ParseNumaStat("anon Nx=1 N0 N=5 N1=-7 N2=3\n", true, 4096), (ByNode{{NumaId{2}, Bytes{3}}}));
}

/// A tree to look at, of a host with these mounts.
std::unique_ptr<Tree> TreeOf(MemoryFs& fs, const char* mountinfo) {
  fs.AddFile("proc/self/mountinfo", mountinfo);
  auto layout = DiscoverLayout(fs);
  EXPECT_TRUE(layout) << layout.error().message;
  auto tree = Tree::OpenToLook(testkit::Share(fs), *std::move(layout), "/berth");
  EXPECT_TRUE(tree) << tree.error().message;
  return *std::move(tree);
}

TEST(UsageTest, AGroupOfV2IsReadFromItsOneDirectory) {
  MemoryFs fs;
  fs.AddFile("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
  const std::string dir = "sys/fs/cgroup/berth/kubepods/podu/app/";
  fs.AddFile(dir + "cpu.stat", "usage_usec 10\nnr_periods 1\nnr_throttled 0\nthrottled_usec 0\n");
  fs.AddFile(dir + "memory.current", "4096\n");
  fs.AddFile(dir + "memory.stat", "anon 1000\ninactive_file 96\nactive_file 500\n");
  fs.AddFile(dir + "memory.swap.current", "5\n");
  fs.AddFile(dir + "pids.current", "3\n");
  fs.AddFile(dir + "memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=8\n");
  const auto tree = TreeOf(fs, "28 22 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  const auto usage = tree->Usage("kubepods/podu/app");
  ASSERT_TRUE(usage && *usage);
  EXPECT_EQ((*usage)->cpu, 10us);
  EXPECT_EQ((*usage)->memory, Bytes{4096});
  EXPECT_EQ((*usage)->working_set, Bytes{4000});
  EXPECT_EQ(*tree->WorkingSet("kubepods/podu/app"), Bytes{4000});
  EXPECT_EQ(*tree->ActiveFile("kubepods/podu/app"), Bytes{500});
  EXPECT_EQ((*usage)->swap, Bytes{5});
  EXPECT_EQ((*usage)->processes, 3);
  EXPECT_EQ((*usage)->memory_stall->some, 8us);
  EXPECT_FALSE((*usage)->io_stall);
  EXPECT_EQ(*tree->Usage("kubepods/podx"), std::nullopt) << "there is no such group";
  EXPECT_TRUE(tree->MemoryByNode("kubepods/podu/app")->empty()) << "this kernel does not count it";
  fs.AddFile(dir + "memory.numa_stat", "anon N0=5\n");
  EXPECT_EQ(tree->MemoryByNode("kubepods/podu/app")->at(NumaId{0}), Bytes{5});
}

TEST(UsageTest, FiguresOfTheHostTellHugePagesApart) {
  MemoryFs fs;
  fs.AddFile("sys/fs/cgroup/cgroup.controllers", "cpuset memory\n");
  fs.AddFile("sys/fs/cgroup/berth/cgroup.procs", "");
  fs.AddFile("proc/loadavg", "0.1 0.2 0.3 1/70 99\n");
  const std::string meminfo = "MemTotal: 1000 kB\nMemFree: 200 kB\nInactive(file): 100 kB\nActive(file): 50 kB\n";
  fs.AddFile("proc/meminfo", meminfo + "Hugetlb: 300 kB\n");
  const auto tree = TreeOf(fs, "28 22 0:25 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  const auto figures = tree->Figures();
  ASSERT_TRUE(figures && *figures);
  EXPECT_EQ((*figures)->huge_pages, Bytes{300 * 1024});
  EXPECT_EQ((*figures)->working_set, Bytes{400 * 1024});
  fs.AddFile("proc/meminfo", meminfo);  // of an old kernel
  EXPECT_EQ((*tree->Figures())->working_set, Bytes{700 * 1024});
}

TEST(UsageTest, CpuTimeOfV1IsReadWhereverItIsMounted) {
  for (const bool apart : {false, true}) {
    MemoryFs fs;
    const std::string cpu = apart ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup/cpu,cpuacct";
    const std::string accounting = apart ? "/sys/fs/cgroup/cpuacct" : cpu;
    const std::string mounts =
        "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n33 31 0:30 / " + cpu +
        (apart ? " rw - cgroup cgroup rw,cpu\n35 31 0:32 / " + accounting + " rw - cgroup cgroup rw,cpuacct\n"
               : " rw - cgroup cgroup rw,cpu,cpuacct\n") +
        "34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    const auto file = [&](const std::string& mount, const char* name) {
      return mount.substr(1) + "/berth/kubepods/podu/app/" + name;
    };
    fs.AddFile(file(accounting, "cpuacct.usage"), "123456\n");
    fs.AddFile(file(cpu, "cpu.stat"), "nr_periods 4\nnr_throttled 2\nthrottled_time 9\n");
    fs.AddFile(file("/sys/fs/cgroup/memory", "memory.usage_in_bytes"), "8192\n");
    fs.AddFile(file("/sys/fs/cgroup/memory", "memory.stat"),
               "active_file 9\ntotal_inactive_file 192\ntotal_active_file 500\ntotal_rss 7\n");
    const auto tree = TreeOf(fs, mounts.c_str());
    const auto usage = tree->Usage("kubepods/podu/app");
    ASSERT_TRUE(usage && *usage);
    EXPECT_EQ((*usage)->cpu, 123456ns);
    EXPECT_EQ((*usage)->throttling, (Throttling{.periods = 4, .throttled = 2, .time = 9ns}));
    EXPECT_EQ((*usage)->working_set, Bytes{8000});
    EXPECT_EQ(*tree->WorkingSet("kubepods/podu/app"), Bytes{8000});
    EXPECT_EQ(*tree->ActiveFile("kubepods/podu/app"), Bytes{500});
    EXPECT_EQ(tree->layout().accounting.has_value(), apart);
    EXPECT_EQ(tree->Dirs("x").dirs.size(), apart ? 4U : 3U) << "a process is put where its time is counted";
  }
}

}  // namespace
}  // namespace berth::cgroup
