// A process runtime in a temporary directory, and a cgroup with this host's cpuset controller, v1 or v2, for the tests
// beside it.
#ifndef BERTH_TESTS_INTEGRATION_RUNTIME_FIXTURE_H_
#define BERTH_TESTS_INTEGRATION_RUNTIME_FIXTURE_H_

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/os/fs.h"
#include "runtime/process/log_reader.h"
#include "runtime/process/process_runtime.h"
#include "testing/fixtures.h"
#include "testing/queued_executor.h"

namespace berth::runtime {

/// Longest wait for anything; a test that needs it has failed.
inline constexpr int kPatienceMs = 30'000;

/// A cgroup below a root of its own, removed at the end with whatever still runs in it.
class TestCgroup {
 public:
  /// Where this host has `controller` ("cpuset", "memory"). nullptr when it cannot be made here.
  static std::unique_ptr<TestCgroup> Make(std::string_view controller, const std::string& name);
  /// In the unified hierarchy, whichever controllers it has. nullptr: none is mounted.
  static std::unique_ptr<TestCgroup> MakeUnified(const std::string& name);
  ~TestCgroup();
  TestCgroup(const TestCgroup&) = delete;
  TestCgroup& operator=(const TestCgroup&) = delete;
  const std::string& dir() const { return dir_; }
  bool v2() const { return v2_; }
  CgroupDirs dirs() const { return {.v2 = v2_, .dirs = {dir_}}; }
  /// CPUs of the whole hierarchy.
  std::string AllCpus() const;
  std::string Read(const std::string& file) const;
  void Write(const std::string& file, const std::string& value) const;
  std::vector<int> Pids() const;
  /// SIGKILL to all in it until it is empty.
  void Kill() const;

 private:
  TestCgroup(std::unique_ptr<os::Fs> fs, std::string dir, bool v2)
      : fs_(std::move(fs)), dir_(std::move(dir)), v2_(v2) {}
  static std::unique_ptr<TestCgroup> Below(const std::string& mount, bool v2, const std::string& name);
  std::unique_ptr<os::Fs> fs_;  // the cgroup's directory
  std::string dir_;
  bool v2_ = false;
};

/// Starts a container, waits for what comes of it, and returns that; an error where it came to nothing.
Result<ContainerStatus> StartNow(Runtime& runtime, testkit::QueuedExecutor& executor, const StartRequest& request);

class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  ProcessRuntimeOptions Options();
  void Open();
  /// A request that runs `command` as pod "uid-1", container "app".
  StartRequest Request(std::vector<std::string> command) const;
  Result<ContainerStatus> Start(const StartRequest& request) { return StartNow(*runtime_, executor_, request); }
  /// With its record, when it succeeds.
  Result<void> Forget(const std::string& id);
  /// Waits for the end of `id`.
  ContainerStatus WaitEnd(const std::string& id);
  /// Starts and waits for the end.
  ContainerStatus Run(const StartRequest& request);
  std::string Output(const StartRequest& request, std::string_view stream = "stdout") const;
  /// Status of `id` in List(), if it is there.
  std::optional<ContainerStatus> Listed(const std::string& id);

  testkit::TempDir temp_;
  testkit::QueuedExecutor executor_;
  std::unique_ptr<TestCgroup> cgroup_;  // cpuset of CPU 0; null where this host has no cpuset
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace berth::runtime

#endif  // BERTH_TESTS_INTEGRATION_RUNTIME_FIXTURE_H_
