#include "berth/pod_problem.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

constexpr const char* kMissingProgram = "exec /bin/nope: No such file or directory";

PodView PodWith(ContainerView container) {
  PodView out;
  container.name = "app";
  out.containers.push_back(std::move(container));
  return out;
}

TEST(PodProblemTest, AMissingProgramIsNamedWhetherItIsTriedAgainOrNot) {
  ContainerView over;
  over.phase = ContainerPhase::kExited;
  over.reason = "StartError";
  over.message = kMissingProgram;
  over.last.emplace().exit_code = 128;
  over.last_end = ContainerEnd{.exit_code = 128, .reason = "StartError", .message = kMissingProgram};
  EXPECT_EQ("container app ended with exit code 128 (StartError: exec /bin/nope: No such file or directory)",
            WhyFailed(PodWith(over)));
  EXPECT_TRUE(CannotStart(PodWith(over)));

  ContainerView again = over;
  again.phase = ContainerPhase::kWaiting;
  again.reason = "CrashLoopBackOff";
  again.message = "back-off 10s restarting failed container";
  EXPECT_EQ("container app: CrashLoopBackOff: exec /bin/nope: No such file or directory",
            WhyNotRunning(PodWith(again)));
  EXPECT_TRUE(CannotStart(PodWith(again)));
}

TEST(PodProblemTest, AMissingImageIsNamedOnce) {
  ContainerView container;
  container.image = "registry.example/app:1";
  container.reason = "ErrImagePull";
  container.message = "not found";
  EXPECT_EQ("container app: ErrImagePull: not found (image registry.example/app:1)", WhyNotRunning(PodWith(container)));
  container.message = "pull registry.example/app:1: not found";
  EXPECT_EQ("container app: ErrImagePull: pull registry.example/app:1: not found", WhyNotRunning(PodWith(container)));
  EXPECT_FALSE(CannotStart(PodWith(container)));
}

TEST(PodProblemTest, WhatThePodWaitsForComesFirstAndWhatRunsIsNoProblem) {
  PodView pod = PodWith({});
  pod.containers[0].phase = ContainerPhase::kRunning;
  EXPECT_EQ("", WhyNotRunning(pod));
  pod.reason = "WaitingForRelease";
  pod.message = "2 CPUs are being given back";
  EXPECT_EQ("WaitingForRelease: 2 CPUs are being given back", WhyNotRunning(pod));
}

TEST(PodProblemTest, WhatAContainerSaidIsPrintedWithoutWhatATerminalWouldObey) {
  ContainerView container;
  container.phase = ContainerPhase::kExited;
  container.reason = "Error";
  container.message = "line\n\x1b[2J";
  container.last.emplace().exit_code = 1;
  const std::string why = WhyFailed(PodWith(container));
  EXPECT_EQ(std::string::npos, why.find('\x1b')) << why;
  EXPECT_EQ(std::string::npos, why.find('\n')) << why;
}

}  // namespace
}  // namespace berth::cli
