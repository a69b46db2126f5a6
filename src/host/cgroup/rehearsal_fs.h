// A file system in which writes can be rehearsed: noted instead of made. Internal to the component.
#ifndef BERTH_HOST_CGROUP_REHEARSAL_FS_H_
#define BERTH_HOST_CGROUP_REHEARSAL_FS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/os/fs.h"

namespace berth::cgroup {

/// Passes everything on; between Begin and End, Write only takes a note and succeeds.
class RehearsalFs final : public os::Fs {
 public:
  struct Note {
    std::string path;
    std::string text;
  };

  explicit RehearsalFs(std::unique_ptr<os::Fs> real) : real_(std::move(real)) {}

  void Begin() { rehearsing_ = true; }
  /// What would have been written, in order.
  std::vector<Note> End() {
    rehearsing_ = false;
    return std::exchange(notes_, {});
  }
  std::uint64_t writes() const { return writes_; }  ///< those that were made
  os::Fs& real() { return *real_; }                 ///< for other threads: nothing is noted or counted

  Result<std::string> Read(std::string_view path) override { return real_->Read(path); }
  Result<void> Write(std::string_view path, std::string_view s) override {
    if (rehearsing_) {
      notes_.push_back({std::string(path), std::string(s)});
      return {};
    }
    auto done = real_->Write(path, s);
    if (done) ++writes_;
    return done;
  }
  Result<std::vector<std::string>> List(std::string_view path) override { return real_->List(path); }
  Result<void> MakeDir(std::string_view path) override { return real_->MakeDir(path); }
  Result<void> RemoveDir(std::string_view path) override { return real_->RemoveDir(path); }
  Result<void> Replace(std::string_view path, std::string_view s) override { return real_->Replace(path, s); }
  Result<void> Link(std::string_view from, std::string_view to) override { return real_->Link(from, to); }
  Result<void> RemoveFile(std::string_view path) override { return real_->RemoveFile(path); }
  Result<bool> Exists(std::string_view path) override { return real_->Exists(path); }
  Result<std::string> ReadLink(std::string_view path) override { return real_->ReadLink(path); }

 private:
  std::unique_ptr<os::Fs> real_;
  bool rehearsing_ = false;
  std::vector<Note> notes_;
  std::uint64_t writes_ = 0;
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_REHEARSAL_FS_H_
