#include "node/checkpoint/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fault_fs.h"
#include "testing/fixtures.h"
#include "testing/memory_fs.h"

namespace berth::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testkit::FaultFs;
using testkit::MemoryFs;

/// A ledger with something in every field, different for every n.
Saved SavedNumber(int n) {
  Saved out{.ledger = {}, .boot_id = "boot-" + std::to_string(n), .machine_fingerprint = "2 CPUs"};
  out.ledger.revision = static_cast<std::uint64_t>(n);
  out.ledger.cpu_policy = "static";
  out.ledger.memory_policy = "Static";
  out.ledger.shared = CpuSet::Range(0, static_cast<std::uint32_t>(n));
  out.ledger.memory[NumaId{0}] = {
      .assignments = 1,
      .cells = {NumaId{0}},
      .types = {
          {"memory",
           {.total = GiB(4), .system_reserved = GiB(1), .allocatable = GiB(3), .reserved = GiB(1), .free = GiB(2)}}}};
  PodRecord pod{.uid = "u" + std::to_string(n),
                .namespace_ = "default",
                .name = "p",
                .qos = QosClass::kGuaranteed,
                .sequence = 1};
  pod.requests["cpu"] = Quantity::FromMilli(1500);
  pod.placements.push_back({.container = "app",
                            .kind = ContainerKind::kApp,
                            .hint = TopologyHint{.nodes = NodeSet{NumaId{0}}, .preferred = true},
                            .cpus = CpuSet{CpuId{100}, CpuId{4095}},
                            .memory = {{{.nodes = {NumaId{0}}, .type = "memory", .size = GiB(1)}}},
                            .devices = {{.resource = "vendor.com/gpu", .ids = {"g0", "g1"}}}});
  pod.reusable.cpus = {CpuId{7}};
  out.ledger.pods[pod.uid] = pod;
  return out;
}

std::unique_ptr<Store> OnFs(os::Fs& fs) { return Store::Make(std::make_unique<testkit::FsWrapper>(fs)); }

std::optional<Saved> LoadFrom(os::Fs& fs, std::vector<std::string>* warnings = nullptr) {
  auto loaded = OnFs(fs)->Load(warnings);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *loaded : std::nullopt;
}

TEST(StoreTest, LoadsWhatWasSaved) {
  MemoryFs disk;
  EXPECT_EQ(LoadFrom(disk), std::nullopt);
  ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(3)));
  EXPECT_EQ(LoadFrom(disk), SavedNumber(3));
}

TEST(StoreTest, SavesWithOneLinkAndOneReplace) {
  MemoryFs disk;
  auto store = OnFs(disk);
  ASSERT_TRUE(store->Save(SavedNumber(1)));
  disk.ClearLog();
  ASSERT_TRUE(store->Save(SavedNumber(2)));
  EXPECT_THAT(disk.log(), ElementsAre("link ledger ledger.prev", "replace ledger"));
}

TEST(StoreTest, EveryPrefixOfTheFileIsRecognisedAndTheLastGoodCopyUsed) {
  MemoryFs disk;
  ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(1)));
  ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(2)));
  const std::string good = *disk.Content("ledger");
  for (std::size_t n = 0; n < good.size(); ++n) {
    disk.AddFile("ledger", good.substr(0, n));
    std::vector<std::string> warnings;
    ASSERT_EQ(LoadFrom(disk, &warnings), SavedNumber(1)) << "prefix of " << n << " bytes";
    ASSERT_THAT(warnings, testing::Contains(HasSubstr("last good copy")));
    ASSERT_EQ(disk.Content("ledger.damaged"), good.substr(0, n));
    disk.Drop("ledger.damaged");
  }
}

TEST(StoreTest, EveryFlippedBitIsRecognised) {
  const std::string good = EncodeSaved(SavedNumber(2));
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      ASSERT_FALSE(DecodeSaved(bad)) << "byte " << at << " bit " << bit;
    }
}

// Made by hand with the checksum of another program version.
constexpr const char* kNewerFormat = "berth-ledger 2 3 024882b5\n{}\n";

TEST(StoreTest, ANewerFormatAloneIsKeptAsideAndTheNodeStarts) {
  for (const bool damaged_copy : {false, true}) {
    MemoryFs disk;
    disk.AddFile("ledger", kNewerFormat);
    if (damaged_copy) disk.AddFile("ledger.prev", "junk");
    std::vector<std::string> warnings;
    EXPECT_EQ(LoadFrom(disk, &warnings), std::nullopt);
    for (const char* part : {"state/ledger", "written in format 2", "what is running"})
      EXPECT_THAT(warnings, testing::Contains(HasSubstr(part)));
    EXPECT_EQ(disk.Content("ledger.newer"), kNewerFormat);
    EXPECT_FALSE(disk.Content("ledger.damaged"));
  }
}

TEST(StoreTest, ANewerFormatWithAUsableCopyIsKeptAside) {
  MemoryFs disk;
  ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(1)));
  ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(2)));
  disk.AddFile("ledger", kNewerFormat);
  std::vector<std::string> warnings;
  EXPECT_EQ(LoadFrom(disk, &warnings), SavedNumber(1));
  EXPECT_EQ(disk.Content("ledger.newer"), kNewerFormat);
  EXPECT_THAT(warnings, testing::Contains(HasSubstr("written in format 2")));
}

TEST(StoreTest, WhatWasKeptAsideIsNotOverwritten) {
  MemoryFs disk;
  for (int n = 0; n < 12; ++n) {
    disk.AddFile("ledger", "junk " + std::to_string(n));
    LoadFrom(disk);
    LoadFrom(disk);  // the same file again: kept once
  }
  EXPECT_EQ(disk.Content("ledger.damaged"), "junk 0");
  EXPECT_EQ(disk.Content("ledger.damaged.8"), "junk 8");
  EXPECT_EQ(disk.Content("ledger.damaged.9"), "junk 11") << "the last one gives way";
  EXPECT_FALSE(disk.Content("ledger.damaged.10"));
}

/// A disk that cannot read one of its files.
struct UnreadableFs final : testkit::FsWrapper {
  UnreadableFs(os::Fs& target, std::string name) : FsWrapper(target), unreadable(std::move(name)) {}
  Result<std::string> Read(std::string_view path) override {
    if (path == unreadable) return FailErrno("read", path, EIO);
    return FsWrapper::Read(path);
  }
  std::string unreadable;
};

TEST(StoreTest, AFileThatCannotBeReadIsNamedAndNothingIsChanged) {
  for (const char* name : {"ledger", "ledger.prev"}) {
    MemoryFs disk;
    ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(1)));
    ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(2)));
    const bool current = name == std::string_view("ledger");
    if (!current) disk.AddFile("ledger", "junk");
    disk.ClearLog();
    UnreadableFs failing(disk, name);
    const auto loaded = OnFs(failing)->Load(nullptr);
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().sys, EIO);
    EXPECT_THAT(loaded.error().message, HasSubstr(std::string("read ") + name + ": Input/output error"));
    EXPECT_THAT(disk.log(), IsEmpty());
    EXPECT_EQ(LoadFrom(disk), SavedNumber(current ? 2 : 1)) << "when it can be read again";
  }
}

TEST(StoreTest, WhatWasKeptAsideAndCannotBeReadIsNotOverwritten) {
  MemoryFs disk;
  disk.AddFile("ledger", "junk");
  disk.AddFile("ledger.damaged", "older junk");
  UnreadableFs failing(disk, "ledger.damaged");
  const auto loaded = OnFs(failing)->Load(nullptr);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(disk.Content("ledger.damaged"), "older junk");
  EXPECT_EQ(disk.Content("ledger.damaged.1"), "junk");
}

TEST(StoreTest, DamageAloneIsAWarning) {
  MemoryFs disk;
  disk.AddFile("ledger", "junk");
  std::vector<std::string> warnings;
  EXPECT_EQ(LoadFrom(disk, &warnings), std::nullopt);
  EXPECT_EQ(disk.Content("ledger.damaged"), "junk");
  EXPECT_THAT(warnings, testing::Contains(HasSubstr("no copy can be used")));
  EXPECT_THAT(warnings, testing::Contains(
                            testing::AllOf(HasSubstr("ledger.damaged"), HasSubstr("holds what could not be used"))));
}

TEST(StoreTest, ACrashAfterFallingBackStillLeavesAGoodCopy) {
  for (int n = 0;; ++n) {
    MemoryFs disk;
    ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(1)));
    ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(2)));
    disk.AddFile("ledger", "junk");
    FaultFs faulty(disk, {.at = n, .kind = FaultFs::Kind::kCrash});
    auto store = OnFs(faulty);
    const bool saved = store->Load(nullptr) && store->Save(SavedNumber(3));
    if (!faulty.fired()) break;
    const std::optional<Saved> after = LoadFrom(disk);
    ASSERT_TRUE(after == SavedNumber(1) || after == SavedNumber(3)) << "crash at change " << n;
    ASSERT_TRUE(!saved || after == SavedNumber(3));
  }
}

TEST(StoreTest, ACrashAtAnyStepLeavesTheStateBeforeOrAfter) {
  for (const FaultFs::Kind kind : {FaultFs::Kind::kCrash, FaultFs::Kind::kCrashAfter}) {
    for (int n = 0;; ++n) {
      MemoryFs disk;
      ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(1)));
      ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(2)));
      FaultFs faulty(disk, {.at = n, .kind = kind});
      const bool saved = OnFs(faulty)->Save(SavedNumber(3)).has_value();
      if (!faulty.fired()) break;
      const std::optional<Saved> after = LoadFrom(disk);
      ASSERT_TRUE(after == SavedNumber(2) || after == SavedNumber(3)) << "crash at change " << n;
      ASSERT_TRUE(!saved || after == SavedNumber(3)) << "a save that answered is durable";
    }
  }
}

TEST(StoreTest, AFailedSaveNamesTheFileAndLeavesTheStateBefore) {
  for (const FaultFs::Kind kind : {FaultFs::Kind::kFail, FaultFs::Kind::kFailAfter}) {
    for (const int sys : {ENOSPC, EIO, EROFS}) {
      for (int n = 0;; ++n) {
        MemoryFs disk;
        ASSERT_TRUE(OnFs(disk)->Save(SavedNumber(1)));
        FaultFs faulty(disk, {.at = n, .kind = kind, .sys = sys});
        const auto saved = OnFs(faulty)->Save(SavedNumber(2));
        if (!faulty.fired()) break;
        ASSERT_FALSE(saved);
        EXPECT_EQ(saved.error().sys, sys);
        EXPECT_THAT(saved.error().message, HasSubstr("ledger"));
        EXPECT_EQ(LoadFrom(disk), SavedNumber(1));
      }
    }
  }
}

TEST(StoreTest, AFirstSaveThatFailsAtTheVeryEndLeavesNothing) {
  MemoryFs disk;
  FaultFs faulty(disk, {.at = 1, .kind = FaultFs::Kind::kFailAfter});
  ASSERT_FALSE(OnFs(faulty)->Save(SavedNumber(1)));
  ASSERT_TRUE(faulty.fired());
  EXPECT_EQ(LoadFrom(disk), std::nullopt);
}

TEST(StoreTest, ASecondOwnerIsRefusedByPid) {
  const testkit::TempDir dir;
  const std::string state = dir / "deep/state";
  auto first = Store::Open(state);
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE((*first)->Save(SavedNumber(1)));
  const auto second = Store::Open(state);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kInUse);
  EXPECT_THAT(second.error().message, HasSubstr("pid " + std::to_string(::getpid())));
  first->reset();
  auto third = Store::Open(state);
  ASSERT_TRUE(third) << third.error().message;
  std::vector<std::string> warnings;
  const auto loaded = (*third)->Load(&warnings);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, SavedNumber(1));
  EXPECT_THAT(warnings, IsEmpty());
}

}  // namespace
}  // namespace berth::checkpoint
