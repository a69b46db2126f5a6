// A file system that lies at a chosen step: fail the n-th change, or "crash" there.
//
//   for (int n = 0;; ++n) {
//     FaultFs fs(disk, {.at = n, .kind = FaultFs::Kind::kCrash});
//     ...                       // do the work with fs
//     if (!fs.fired()) break;   // the work needs fewer than n changes
//     ...                       // open `disk` again, check the invariants
//   }
#ifndef BERTH_TESTING_FAULT_FS_H_
#define BERTH_TESTING_FAULT_FS_H_

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/os/fs.h"

namespace berth::testkit {

/// Forwards everything to `target`, which must outlive it; override what a test needs.
class FsWrapper : public os::Fs {
 public:
  explicit FsWrapper(os::Fs& target) : target_(target) {}
  FsWrapper(const FsWrapper&) = delete;
  FsWrapper& operator=(const FsWrapper&) = delete;
  Result<std::string> Read(std::string_view path) override { return target_.Read(path); }
  Result<void> Write(std::string_view path, std::string_view s) override { return target_.Write(path, s); }
  Result<std::vector<std::string>> List(std::string_view path) override { return target_.List(path); }
  Result<void> MakeDir(std::string_view path) override { return target_.MakeDir(path); }
  Result<void> RemoveDir(std::string_view path) override { return target_.RemoveDir(path); }
  Result<void> Replace(std::string_view path, std::string_view s) override { return target_.Replace(path, s); }
  Result<void> Link(std::string_view from, std::string_view to) override { return target_.Link(from, to); }
  Result<void> RemoveFile(std::string_view path) override { return target_.RemoveFile(path); }
  Result<bool> Exists(std::string_view path) override { return target_.Exists(path); }
  Result<std::string> ReadLink(std::string_view path) override { return target_.ReadLink(path); }

 protected:
  os::Fs& target() { return target_; }

 private:
  os::Fs& target_;
};

/// For code that owns its Fs: an owned handle to `fs`, which the test keeps and which must outlive it.
inline std::unique_ptr<os::Fs> Share(os::Fs& fs) { return std::make_unique<FsWrapper>(fs); }

/// Thread: one.
class FaultFs final : public FsWrapper {
 public:
  enum class Kind {
    kFail,        ///< the change is not made, `sys` is reported; later ones work
    kFailAfter,   ///< the change is made as far as it can be, yet `sys` is reported; later ones work
    kFailOn,      ///< neither this change nor a later one is made, `sys` is reported, until Heal
    kShortWrite,  ///< Write leaves the first half behind and reports kIo; other changes as kFail
    kCrash,       ///< the change is not made (Replace leaves half a temporary file); from then on everything fails
    kCrashAfter,  ///< the change is made; from then on everything fails
  };
  struct Plan {
    int at = 0;  ///< which change (Write, MakeDir, RemoveDir, Replace, Link, RemoveFile), counted from 0; -1: never
    Kind kind = Kind::kFail;
    int sys = EIO;
  };

  FaultFs(os::Fs& target, Plan plan) : FsWrapper(target), plan_(plan) {}

  /// What is asked for from now on works.
  void Heal() { healed_ = true; }

  bool fired() const { return fired_; }
  bool crashed() const { return crashed_; }
  int changes() const { return changes_; }  ///< changes asked for so far

  Result<std::string> Read(std::string_view path) override;
  Result<void> Write(std::string_view path, std::string_view s) override;
  Result<std::vector<std::string>> List(std::string_view path) override;
  Result<void> MakeDir(std::string_view path) override;
  Result<void> RemoveDir(std::string_view path) override;
  Result<void> Replace(std::string_view path, std::string_view s) override;
  Result<void> Link(std::string_view from, std::string_view to) override;
  Result<void> RemoveFile(std::string_view path) override;
  Result<bool> Exists(std::string_view path) override;
  Result<std::string> ReadLink(std::string_view path) override;

 private:
  template <class Do, class Half>
  Result<void> Change(std::string_view doing, std::string_view path, Do change, Half half);
  std::unexpected<Error> Dead(std::string_view doing, std::string_view path) const;

  Plan plan_;
  int changes_ = 0;
  bool fired_ = false;
  bool healed_ = false;
  bool crashed_ = false;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTING_FAULT_FS_H_
