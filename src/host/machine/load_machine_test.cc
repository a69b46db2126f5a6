#include "host/machine/load_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "host/machine/describe.h"
#include "testing/fixtures.h"
#include "testing/memory_fs.h"

namespace berth::machine {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A machine that would tell much about its owner if everything were kept.
void AddTellingMachine(testkit::MemoryFs& fs) {
  for (const char* cpu : {"0", "1"}) {
    const std::string dir = "sys/devices/system/cpu/cpu" + std::string(cpu);
    fs.AddFile(dir + "/topology/core_id", cpu);
    fs.AddFile(dir + "/topology/physical_package_id", "0");
    fs.AddLink("sys/devices/system/node/node0/cpu" + std::string(cpu), "../../cpu/cpu" + std::string(cpu));
  }
  fs.AddDir("sys/devices/system/cpu/cpu2");
  fs.AddFile("sys/devices/system/cpu/online", "0-1\n");
  fs.AddFile("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 2048 kB\nNode 0 Secret: 77 kB\n");
  fs.AddDir("sys/devices/system/node/node0/memory7");
  fs.AddFile("sys/class/dmi/id/product_serial", "SECRET-1");
  fs.AddFile("proc/cpuinfo", "processor\t: 0\nphysical id\t: 0\nSerial\t\t: SECRET-2\n");
  fs.AddFile("proc/meminfo", "MemTotal: 4096 kB\n");
  fs.AddFile("proc/sys/kernel/random/boot_id", "SECRET-3\n");
  fs.AddFile("sys/devices/pci0000:00/0000:00:03.0/class", "0x020000\n");
  fs.AddLink("sys/bus/pci/devices/0000:00:03.0", "../../../devices/pci0000:00/0000:00:03.0");
  fs.AddLink("sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/net/eth0");
  fs.AddLink("sys/class/net/wg-SECRET", "../../devices/virtual/net/wg-SECRET");
}

TEST(CaptureTest, ComesBackAsTheSameMachine) {
  testkit::MemoryFs fs;
  AddTellingMachine(fs);
  const testkit::TempDir dir;
  for (const char* name : {"m.tar", "m.tar.gz", "m.tgz"}) {
    SCOPED_TRACE(name);
    const Result<void> saved = Capture(fs, dir / name);
    ASSERT_TRUE(saved) << saved.error().message;
    const Result<Machine> direct = LoadTree(fs, "captured tree " + (dir / name));
    const Result<Machine> back = Load(dir / name);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*direct, *back) << Describe(*direct) << Describe(*back);
    EXPECT_EQ("0-2", FormatIds(back->present)) << "the offline CPU is a folder with nothing read below it";
  }
}

TEST(CaptureTest, KeepsNothingPersonal) {
  testkit::MemoryFs fs;
  AddTellingMachine(fs);
  const testkit::TempDir dir;
  ASSERT_TRUE(Capture(fs, dir / "m.tar"));
  const std::string bytes = testkit::ReadText(dir / "m.tar");
  EXPECT_THAT(bytes, Not(HasSubstr("SECRET")));
  EXPECT_THAT(bytes, Not(HasSubstr("Secret")));
  EXPECT_THAT(bytes, Not(HasSubstr("memory7")));
  EXPECT_THAT(bytes, HasSubstr("eth0"));
}

TEST(CaptureTest, GivesTheSameBytesTwice) {
  testkit::MemoryFs fs;
  AddTellingMachine(fs);
  const testkit::TempDir dir;
  ASSERT_TRUE(Capture(fs, dir / "a.tar.gz"));
  ASSERT_TRUE(Capture(fs, dir / "b.tar.gz"));
  EXPECT_EQ(testkit::ReadText(dir / "a.tar.gz"), testkit::ReadText(dir / "b.tar.gz"));
}

TEST(CaptureTest, RefusesOtherEndingsAndMissingFolders) {
  testkit::MemoryFs fs;
  AddTellingMachine(fs);
  EXPECT_THAT(Capture(fs, "m.zip").error().message, HasSubstr("must end in .tar, .tar.gz or .tgz"));
  EXPECT_EQ(Code::kNotFound, Capture(fs, "/nonexistent-folder/m.tar").error().code);
  testkit::MemoryFs empty;
  EXPECT_EQ(Code::kNotFound, Capture(empty, "m.tar").error().code) << "a tree without CPUs is no machine";
}

TEST(CaptureTest, ThisHostComesBack) {
  const testkit::TempDir dir;
  const Result<std::unique_ptr<os::Fs>> root = os::OpenFs("/");
  ASSERT_TRUE(root);
  const Result<void> saved = Capture(**root, dir / "host.tar.gz");
  ASSERT_TRUE(saved) << saved.error().message;
  const Result<Machine> host = LoadThisHost();
  Result<Machine> back = Load(dir / "host.tar.gz");
  ASSERT_TRUE(host) << host.error().message;
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_TRUE(host->this_host);
  EXPECT_NE("", host->boot_id);
  EXPECT_FALSE(back->this_host);
  EXPECT_EQ("", back->boot_id);
  back->source = host->source;
  back->this_host = true;
  back->boot_id = host->boot_id;
  for (std::size_t i = 0; i < std::min(host->nodes.size(), back->nodes.size()); ++i)
    back->nodes[i].memory = host->nodes[i].memory;  // memory may be added while the test runs
  back->memory = host->memory;
  EXPECT_EQ(*host, *back) << Describe(*host) << Describe(*back);
}

TEST(LoadTest, KnowsAllKindsOfSources) {
  testkit::MemoryFs fs;
  AddTellingMachine(fs);
  const testkit::TempDir dir;
  ASSERT_TRUE(Capture(fs, dir / "tree.tar"));
  std::ofstream(dir / "noending") << testkit::ReadText(dir / "tree.tar");
  const Result<Machine> tree = Load(dir / "tree.tar");
  ASSERT_TRUE(tree);
  std::ofstream(dir / "m.json") << FormatMachineInfo(*tree);
  std::ofstream(dir / "json-without-ending") << "\n  " << FormatMachineInfo(*tree);
  for (const char* name : {"noending", "m.json", "json-without-ending"}) {
    const Result<Machine> machine = Load(dir / name);
    ASSERT_TRUE(machine) << name << ": " << machine.error().message;
    EXPECT_EQ(2, machine->reported_cpus) << name;
    EXPECT_FALSE(machine->this_host);
  }
  EXPECT_TRUE(Load("pack:1 core:2 pu:2"));
  const Result<Machine> host = Load("host");
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_TRUE(host->this_host);
}

TEST(LoadTest, ReadsFoldersWithSysInThem) {
  const testkit::TempDir dir;
  EXPECT_THAT(Load(dir.path()).error().message, HasSubstr("'sys' is missing"));
  for (const char* folder : {"sys", "sys/devices", "sys/devices/system", "sys/devices/system/cpu",
                             "sys/devices/system/cpu/cpu0", "sys/devices/system/cpu/cpu0/topology"})
    ASSERT_TRUE((*os::OpenFs(dir.path()))->MakeDir(folder));
  std::ofstream(dir / "sys/devices/system/cpu/cpu0/topology/core_id") << "0\n";
  std::ofstream(dir / "sys/devices/system/cpu/cpu0/topology/physical_package_id") << "0\n";
  const Result<Machine> machine = Load(dir.path());
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ("0", FormatIds(UsableCpus(*machine)));
  EXPECT_FALSE(machine->this_host) << "a folder is never this host";
}

TEST(LoadTest, ErrorsNameWhatWasTried) {
  const testkit::TempDir dir;
  std::ofstream(dir / "empty") << "";
  std::ofstream(dir / "bad.json") << "{]";
  std::ofstream(dir / "bad.xml") << "<topology>";
  std::ofstream(dir / "bad.tar.gz") << "no tar";
  EXPECT_THAT(Load("").error().message, HasSubstr("no machine is named"));
  EXPECT_THAT(Load("nothing").error().message, HasSubstr("tried as 'host', as a folder, as a file"));
  EXPECT_EQ(Code::kNotFound, Load("nothing").error().code);
  EXPECT_THAT(Load(dir / "empty").error().message, HasSubstr("the file is empty"));
  EXPECT_THAT(Load(dir / "bad.json").error().message, HasSubstr("not JSON"));
  EXPECT_THAT(Load(dir / "bad.xml").error().message, HasSubstr("hwloc cannot read it"));
  EXPECT_THAT(Load(dir / "bad.tar.gz").error().message, HasSubstr("not a tar file"));
  EXPECT_THAT(Load("pack:2 what:3").error().message, HasSubstr("synthetic machine 'pack:2 what:3'"));
}

}  // namespace
}  // namespace berth::machine
