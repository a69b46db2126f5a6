// A part of this host's real cgroup tree for one test: root cgroup "berth-test-<pid>-<n>" in every hierarchy, removed
// with all processes in it by the destructor, also when the test failed.
#ifndef BERTH_TESTS_INTEGRATION_CGROUP_FIXTURE_H_
#define BERTH_TESTS_INTEGRATION_CGROUP_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/cgroup/cgroup.h"
#include "host/os/fs.h"

namespace berth::testkit {

class RealCgroups {
 public:
  /// Why real cgroups cannot be tested here (no root, nothing mounted, read-only); nullopt: they can.
  static std::optional<std::string> WhyNot();

  RealCgroups();
  ~RealCgroups();
  RealCgroups(const RealCgroups&) = delete;
  RealCgroups& operator=(const RealCgroups&) = delete;

  cgroup::Tree& tree() { return *tree_; }
  const cgroup::Layout& layout() const { return layout_; }
  bool v2(std::string_view controller) const;
  /// Whether the tree's groups are units of systemd: then they are called as with cgroupfs here all the same.
  bool systemd() const;
  /// Whether /proc/swaps lists anything.
  bool SwapIsOn();
  /// Content of a control file without the newline; a test failure when it cannot be read.
  std::string Value(std::string_view controller, std::string_view path, std::string_view file);
  /// Writes past the tree, as a foreign program would.
  void ForeignWrite(std::string_view controller, std::string_view path, std::string_view file, std::string_view value);
  /// Moves a process past the tree; the errno of the refusal, 0 when it was moved.
  int ForeignMove(std::string_view path, int pid);
  struct Sleeper {
    int children = 0;           ///< how many more processes it starts
    std::size_t touch_mib = 0;  ///< memory each of them uses
  };
  /// Starts a process in `path` that sleeps and ends by itself after a minute. -1 after a test failure.
  int StartSleeper(std::string_view path, Sleeper what);
  int StartSleeper(std::string_view path) { return StartSleeper(path, Sleeper()); }
  /// Waits for a started process to end and takes its status.
  static void Reap(int pid);
  /// Cpus_allowed_list of a process.
  CpuSet AllowedCpus(int pid);

 private:
  std::string File(std::string_view controller, std::string_view path, std::string_view file) const;

  std::unique_ptr<os::Fs> fs_;
  cgroup::Layout layout_;
  std::string root_;
  std::unique_ptr<cgroup::Tree> tree_;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_CGROUP_FIXTURE_H_
