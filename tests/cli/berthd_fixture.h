// A real berthd that plays a machine (dry run): decisions, ledger and API are real, cgroups and processes are not.
#ifndef BERTH_TESTS_CLI_BERTHD_FIXTURE_H_
#define BERTH_TESTS_CLI_BERTHD_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/codec/codec.h"
#include "run_program.h"
#include "testing/fixtures.h"

namespace berth {

/// 2 sockets of 4 cores with 2 threads, one NUMA node each; CPUs 0-1 reserved; static CPU policy; node name "n1".
class BerthdTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  /// Of berthd, beside its own.
  virtual std::vector<std::string> MoreArguments() { return {}; }

  /// `berth <arguments> --socket <this berthd's>`.
  Ran Ask(std::vector<std::string> arguments, RunOptions options = {}) const;
  /// The answer of `berth <arguments> -o json`; a test failure when it is no JSON.
  codec::Json AskJson(std::vector<std::string> arguments) const;
  /// Writes a manifest and gives its path. `cpu` "": BestEffort, else limits of that many CPUs (Guaranteed).
  std::string Manifest(const std::string& name, const std::string& cpu) const;
  /// Writes a file into the test's folder and gives its path.
  std::string File(const std::string& name, const std::string& text) const;
  /// Applies such a pod and waits until it runs; a test failure when it does not.
  void AddPod(const std::string& name, const std::string& cpu) const;
  void StopBerthd();

  const std::string& socket() const { return socket_; }

 private:
  testkit::TempDir folder_;
  std::string socket_;
  int pid_ = -1;
};

}  // namespace berth

#endif  // BERTH_TESTS_CLI_BERTHD_FIXTURE_H_
