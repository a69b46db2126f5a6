// Test fixtures that several libraries share: temporary directories, a clock that stands still, files of the checkout.
#ifndef BERTH_TESTING_FIXTURES_H_
#define BERTH_TESTING_FIXTURES_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/id_set.h"
#include "host/os/clock.h"

namespace berth::testkit {

/// A new empty directory below $TMPDIR (or /tmp), removed with its content by the destructor.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  /// path() + "/" + name.
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

/// Time moves only when told to.
class ManualClock final : public os::Clock {
 public:
  os::MonoTime Now() const override { return now_; }
  os::WallTime Wall() const override { return wall_; }
  void Advance(os::Millis by) { now_ += by, wall_ += by; }
  /// Somebody sets the wall clock.
  void SetWall(os::WallTime wall) { wall_ = wall; }

 private:
  os::MonoTime now_{std::chrono::hours(1)};
  os::WallTime wall_{std::chrono::sys_days{std::chrono::year{2026} / 1 / 2}};
};

/// The CPUs of a list such as "0-3,8"; a test failure and none when it is no list.
CpuSet Cpus(std::string_view list);

/// Absolute path of a file of the checkout, e.g. "tests/golden/x.txt".
std::string SourcePath(std::string_view relative);

/// Absolute path below the folder of shared machines and recorded cases ($BERTH_SHARED, else ../shared beside the
/// checkout); nullopt when that is absent: skip, and say so.
std::optional<std::string> SharedPath(std::string_view relative);

/// The whole file; a test failure and "" when it cannot be read.
std::string ReadText(const std::string& path);

/// Compares `text` with the file `relative` of the checkout (a test failure shows the first differing line). With
/// BERTH_UPDATE_GOLDEN=1 in the environment the file is written instead.
void ExpectGolden(std::string_view relative, std::string_view text);

/// The most memory this process ever had resident, in KiB.
long PeakKib();

}  // namespace berth::testkit

#endif  // BERTH_TESTING_FIXTURES_H_
