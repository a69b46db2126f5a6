// The store against a disk that stops, fails, or forgets: at every system call of real saves, and in every order in
// which a file system may lose what was not synced.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "node/checkpoint/disk_calls_test.h"
#include "node/checkpoint/store.h"
#include "testing/fault_fs.h"
#include "testing/fixtures.h"
#include "testing/memory_fs.h"

namespace berth::checkpoint {
namespace {

using Kind = DiskCall::Kind;

/// Pods 1..n hold a CPU each: what a node saves when it admits one pod after another.
Saved AfterPods(int n) {
  Saved out{.ledger = {}, .boot_id = "boot", .machine_fingerprint = "m"};
  out.ledger.cpu_policy = "static";
  out.ledger.memory_policy = "None";
  out.ledger.revision = static_cast<std::uint64_t>(n);
  out.ledger.next_sequence = static_cast<std::uint64_t>(n) + 1;
  out.ledger.shared = CpuSet::Range(20, 31);
  for (int i = 1; i <= n; ++i) {
    PodRecord pod{.uid = "u" + std::to_string(i), .name = "p", .sequence = static_cast<std::uint64_t>(i)};
    pod.placements.push_back({.container = "app", .cpus = CpuSet{CpuId{static_cast<unsigned>(i)}}});
    out.ledger.pods.emplace(pod.uid, pod);
  }
  return out;
}

std::optional<Saved> LoadFrom(const std::string& folder) {
  auto store = Store::Open(folder);
  EXPECT_TRUE(store) << store.error().message;
  if (!store) return std::nullopt;
  auto loaded = (*store)->Load(nullptr);
  EXPECT_TRUE(loaded) << loaded.error().message;
  return loaded ? *loaded : std::nullopt;
}

void SaveInto(const std::string& folder, int n) {
  auto store = Store::Open(folder);
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_TRUE((*store)->Save(AfterPods(n)));
}

/// The exit status of a child that does `work` with that fault.
int InChild(const std::string& folder, int number, DiskFault fault, const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    DiskWatch watch(folder);
    watch.SetFault(number, fault);
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PowerLossTest, ADecisionCostsOneFileSyncAndOneFolderSync) {
  const testkit::TempDir temp;
  const std::string folder = temp / "state";
  auto store = Store::Open(folder);
  ASSERT_TRUE(store) << store.error().message;
  for (int n = 1; n <= 3; ++n) {
    DiskWatch watch(folder);
    ASSERT_TRUE((*store)->Save(AfterPods(n)));
    EXPECT_EQ(watch.Count(Kind::kSyncFile), 1);
    EXPECT_EQ(watch.Count(Kind::kSyncFolder), 1);
    EXPECT_EQ(watch.calls().back().kind, Kind::kSyncFolder) << "nothing changes after it is durable";
  }
}

TEST(PowerLossTest, AProcessStoppedAtAnyCallLeavesTheStateBeforeOrAfter) {
  int stops = 0;
  for (const DiskFault fault : {DiskFault::kStop, DiskFault::kStopHalf}) {
    for (int before = 0; before <= 2; ++before) {
      for (int number = 0;; ++number) {
        const testkit::TempDir temp;
        const std::string folder = temp / "state";
        for (int n = 1; n <= before; ++n) SaveInto(folder, n);
        const int status = InChild(temp.path(), number, fault, [&] {
          auto store = Store::Open(folder);
          return store && (*store)->Load(nullptr) && (*store)->Save(AfterPods(before + 1));
        });
        const auto left = LoadFrom(folder);
        if (status == 0) {
          ASSERT_EQ(left, AfterPods(before + 1));
          break;
        }
        ASSERT_EQ(status, kStopped);
        ++stops;
        const bool is_before = before == 0 ? !left.has_value() : left == AfterPods(before);
        ASSERT_TRUE(is_before || left == AfterPods(before + 1)) << "stopped in place of call " << number;
        SaveInto(folder, 9);  // and it goes on from there
        ASSERT_EQ(LoadFrom(folder), AfterPods(9));
      }
    }
  }
  std::printf("stopped at %d system calls: the state before or after every time\n", stops);
  EXPECT_GT(stops, 40);
}

TEST(PowerLossTest, AWriteThatFailsAtAnyCallLeavesTheStateBefore) {
  int faults = 0;
  for (const int sys : {ENOSPC, EIO, EROFS}) {
    for (int before = 0; before <= 2; ++before) {
      for (int number = 0;; ++number) {
        const testkit::TempDir temp;
        const std::string folder = temp / "state";
        for (int n = 1; n <= before; ++n) SaveInto(folder, n);
        auto store = Store::Open(folder);
        ASSERT_TRUE(store);
        bool fired = false;
        bool saved = false;
        {
          DiskWatch watch(folder);
          watch.SetFault(number, DiskFault::kFail, sys);
          const auto result = (*store)->Save(AfterPods(before + 1));
          fired = watch.fired();
          saved = result.has_value();
          if (!saved) {
            EXPECT_EQ(result.error().sys, sys);
            EXPECT_NE(result.error().message.find(folder), std::string::npos) << result.error().message;
          }
        }
        store->reset();
        const auto left = LoadFrom(folder);
        if (!fired) break;
        ++faults;
        if (saved) {  // only the removal of something that was not there failed
          ASSERT_EQ(left, AfterPods(before + 1)) << "call " << number;
        } else {
          ASSERT_TRUE(before == 0 ? !left.has_value() : left == AfterPods(before)) << "call " << number;
        }
      }
    }
  }
  std::printf("%d system calls failed: the state before every time\n", faults);
  EXPECT_GT(faults, 40);
}

TEST(PowerLossTest, AShortWriteIsCompleted) {
  const testkit::TempDir temp;
  const std::string folder = temp / "state";
  auto store = Store::Open(folder);
  ASSERT_TRUE(store);
  for (int number = 0; number < 12; ++number) {
    DiskWatch watch(folder);
    watch.SetFault(number, DiskFault::kShortWrite);
    ASSERT_TRUE((*store)->Save(AfterPods(number)));
  }
  store->reset();
  EXPECT_EQ(LoadFrom(folder), AfterPods(11));
}

// ---- what a file system may forget --------------------------------------------------------------------------------

/// A file system as its promises say: names of a folder are durable once the folder was synced, content once the file
/// was; of the rest any part may be lost, in any combination.
class ForgetfulDisk {
 public:
  using Files = std::map<std::string, std::string>;  // path -> content

  void Do(const DiskCall& call) {
    switch (call.kind) {
      case Kind::kCreate: Name(call.path, NewFile()); break;
      case Kind::kWrite: files_[names_[call.path]].written += call.bytes; break;
      case Kind::kSyncFile: Sync(files_[names_[call.path]]); break;
      case Kind::kSyncFolder: SyncFolder(call.path); break;
      case Kind::kLink: Name(call.to, names_[call.path]); break;
      case Kind::kRename: Rename(call); break;
      case Kind::kUnlink: Name(call.path, kNoFile); break;
      case Kind::kMakeFolder: Name(call.path, NewFile()); break;
      case Kind::kDone: break;
    }
  }

  /// Every set of files that may be there after the power comes back.
  std::vector<Files> Outcomes() const {
    std::vector<Files> out;
    for (std::size_t kept = 0; kept < std::size_t{1} << pending_.size(); ++kept) {
      std::map<std::string, int> names = durable_;
      for (std::size_t i = 0; i < pending_.size(); ++i)
        if ((kept >> i & 1) != 0)
          for (const auto& [path, file] : pending_[i].names) names[path] = file;
      for (const int percent : {0, 50, 100}) out.push_back(ContentOf(names, percent));
    }
    return out;
  }
  std::size_t pending() const { return pending_.size(); }

 private:
  static constexpr int kNoFile = -1;
  struct File {
    std::string written;
    std::size_t durable = 0;
  };
  /// One change of names; a rename is one, whatever else is lost.
  struct Pending {
    std::string folder;
    std::map<std::string, int> names;
  };

  static std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }
  int NewFile() { return next_++; }
  static void Sync(File& file) { file.durable = file.written.size(); }
  void Name(const std::string& path, int file) {
    names_[path] = file;
    pending_.push_back({FolderOf(path), {{path, file}}});
  }
  void Rename(const DiskCall& call) {
    if (names_[call.path] == names_[call.to]) return;  // two names of one file: nothing happens
    names_[call.to] = names_[call.path];
    names_[call.path] = kNoFile;
    pending_.push_back({FolderOf(call.to), {{call.to, names_[call.to]}, {call.path, kNoFile}}});
  }
  void SyncFolder(const std::string& folder) {
    std::erase_if(pending_, [&](const Pending& change) {
      if (change.folder != folder) return false;
      for (const auto& [path, file] : change.names) durable_[path] = file;
      return true;
    });
  }
  Files ContentOf(const std::map<std::string, int>& names, int percent) const {
    Files out;
    for (const auto& [path, number] : names) {
      if (number == kNoFile) continue;
      const auto folder = names.find(FolderOf(path));
      const bool lost_with_folder =
          names_.contains(FolderOf(path)) && (folder == names.end() || folder->second == kNoFile);
      if (lost_with_folder) continue;
      const auto file = files_.find(number);
      if (file == files_.end()) continue;  // a folder, or an empty file
      const std::size_t unsynced = file->second.written.size() - file->second.durable;
      out[path] =
          file->second.written.substr(0, file->second.durable + unsynced * static_cast<std::size_t>(percent) / 100);
    }
    return out;
  }

  std::map<std::string, int> names_;    // as the program sees them
  std::map<std::string, int> durable_;  // as the disk has them
  std::map<int, File> files_;
  std::vector<Pending> pending_;
  int next_ = 0;
};

/// The trace of a node that starts on an empty disk, admits pods, restarts and goes on.
std::vector<DiskCall> Admissions(const std::string& root, const std::string& folder, int pods) {
  DiskWatch watch(root);
  for (int n = 1; n <= pods; ++n) {
    auto store = Store::Open(folder);
    EXPECT_TRUE(store && (*store)->Load(nullptr) && (*store)->Save(AfterPods(n)));
    watch.Mark();
  }
  return watch.calls();
}

TEST(PowerLossTest, WhateverTheDiskForgetsTheLedgerLoads) {
  const testkit::TempDir temp;
  const std::string folder = temp / "deep/state";
  const std::vector<DiskCall> calls = Admissions(temp.path(), folder, 4);
  ForgetfulDisk disk;
  int durable = 0;  // saves that had returned
  std::size_t outcomes = 0;
  std::size_t most = 0;
  for (std::size_t step = 0; step <= calls.size(); ++step) {
    std::set<ForgetfulDisk::Files> seen;
    for (const ForgetfulDisk::Files& files : disk.Outcomes()) {
      ++outcomes;
      if (!seen.insert(files).second) continue;
      testkit::MemoryFs memory;
      for (const auto& [path, content] : files)
        if (path.starts_with(folder + "/")) memory.AddFile(path.substr(folder.size() + 1), content);
      const auto store = Store::Make(testkit::Share(memory));
      const auto loaded = store->Load(nullptr);
      ASSERT_TRUE(loaded) << "after " << step << " calls";
      const bool is_before = durable == 0 ? !loaded->has_value() : *loaded == AfterPods(durable);
      ASSERT_TRUE(is_before || *loaded == AfterPods(durable + 1))
          << "after " << step << " calls and " << durable << " saves";
      ASSERT_TRUE(store->Save(AfterPods(7)));
      ASSERT_EQ(*store->Load(nullptr), AfterPods(7));
    }
    most = std::max(most, disk.pending());
    if (step == calls.size()) break;
    disk.Do(calls[step]);
    if (calls[step].kind == Kind::kDone) ++durable;
  }
  std::printf("%zu calls, up to %zu changes of names not synced: %zu outcomes, all load\n", calls.size(), most,
              outcomes);
  EXPECT_EQ(durable, 4);
  EXPECT_GT(outcomes, 200U);
}

}  // namespace
}  // namespace berth::checkpoint
