// A berthd in a group of bounded memory, with a pod that must not notice anything, and somebody who keeps asking.
#ifndef BERTH_TESTS_ATTACK_FIXTURE_H_
#define BERTH_TESTS_ATTACK_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "daemon_fixture.h"
#include "host/os/unique_fd.h"

namespace berth::testkit {

/// A pod of one container that runs `script` in /bin/sh, as root like every process of this runtime. `cpu`: as
/// SpinnerManifest.
std::string ScriptPod(const std::string& name, const std::string& script, const std::string& cpu = "",
                      const std::string& more = "");
/// Nearly as large as a manifest may be: 90 000 pods, each in one line.
std::string PodsInLines();
/// A line of /proc/<pid>/status in KiB; -1: not there.
int StatusKib(int pid, const std::string& field);

/// After each test: the berthd of its beginning lives and never held more than kMostMemory, nobody waited
/// kLongestAnswer (BERTH_SLOWER times as long where that is set) for an answer, and the pod "steady" runs as it did, on
/// its CPU.
class AttackTest : public testing::Test {
 protected:
  static constexpr int kMostMemoryKib = 128 * 1024;
  static constexpr std::chrono::milliseconds kLongestAnswer{1000};

  void SetUp() override;
  void TearDown() override;
  /// Starts berthd and "steady"; called by SetUp unless a test of its own has to prepare something (kStartsItself).
  enum class Memory { kLimited, kOfManySupervisors };
  void Begin(Memory memory = Memory::kLimited);
  virtual bool starts_itself() const { return false; }
  /// What berthd is started with; before_exec runs in it.
  virtual std::vector<std::string> arguments() const { return {}; }
  virtual std::function<void()> before_exec() const { return nullptr; }

  os::UniqueFd Connect() const;
  /// Sends bytes to the API and gives what comes back until berthd closes.
  std::string Say(std::string_view bytes) const;
  std::string Post(const std::string& target, const std::string& text, const std::string& headers = "") const;
  std::string PostManifest(const std::string& text, const std::string& headers = "") const {
    return Post("/v1/pods", text, headers);
  }

  DaemonFixture node;

 private:
  void KeepAsking();

  int berthd_ = -1;
  std::map<std::string, int> steady_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::int64_t> longest_us_ = 0;
  std::thread asker_;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTS_ATTACK_FIXTURE_H_
