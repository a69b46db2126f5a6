#include "host/cgroup/movable_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/memory_fs.h"

namespace berth::cgroup {
namespace {

using testing::HasSubstr;

/// A process of a host with cgroup v1: its program, its parent, and the group that it is in.
struct Relative {
  int pid = 0;
  int parent = 0;
  std::string program;
  std::string group = "/";
  int flags = 0;
  std::string pids;  ///< in namespaces of pids; "": as `pid`
};

void FillHost(testkit::MemoryFs& fs, const std::vector<Relative>& processes) {
  fs.AddFile("proc/self/mountinfo", "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n");
  fs.AddFile("sys/fs/cgroup/cpuset/cpuset.cpus", "0-7\n");
  fs.AddFile("sys/fs/cgroup/cpuset/all/cpuset.cpus", "0-7\n");
  fs.AddFile("sys/fs/cgroup/cpuset/theirs/cpuset.cpus", "2-3\n");
  for (const Relative& process : processes) {
    const std::string dir = "proc/" + std::to_string(process.pid);
    fs.AddFile(dir + "/stat", std::to_string(process.pid) + " (" + process.program + ") S " +
                                  std::to_string(process.parent) + " 1 1 0 -1 " + std::to_string(process.flags) +
                                  " 0 0\n");
    fs.AddFile(dir + "/cgroup", "3:cpuset:" + process.group + "\n");
    fs.AddFile(dir + "/status", "Name:\t" + process.program + "\nNSpid:\t" +
                                    (process.pids.empty() ? std::to_string(process.pid) : process.pids) + "\n");
  }
}

/// Pids that may be moved, or why not.
std::string MovableOf(const std::vector<Relative>& processes, const FamilyMove& move) {
  testkit::MemoryFs fs;
  FillHost(fs, processes);
  const auto family = FindMovable(fs, move);
  if (!family) return family.error().message;
  std::string out = family->name + ":";
  for (const int pid : family->pids) out += " " + std::to_string(pid);
  return out;
}

const std::vector<Relative>& ServerAndMore() {
  static const std::vector<Relative> all = {{.pid = 1, .parent = 0, .program = "init"},
                                            {.pid = 2, .parent = 0, .program = "kthreadd", .flags = 0x200000},
                                            {.pid = 10, .parent = 1, .program = "a) (server"},
                                            {.pid = 11, .parent = 10, .program = "worker", .group = "/all"},
                                            {.pid = 12, .parent = 11, .program = "worker"},
                                            {.pid = 20, .parent = 1, .program = "bash"},
                                            {.pid = 21, .parent = 20, .program = "berth"},
                                            {.pid = 30, .parent = 1, .program = "sh"},
                                            {.pid = 31, .parent = 30, .program = "berthd"},
                                            {.pid = 32, .parent = 1, .program = "berth-shim"},
                                            {.pid = 33, .parent = 1, .program = "renamed"}};
  return all;
}

TEST(FamilyTest, AProcessComesWithAllThatDescendFromIt) {
  EXPECT_EQ("a) (server: 10 11 12", MovableOf(ServerAndMore(), {.pid = 10, .self = 21}));
  EXPECT_EQ("there is no process 99", MovableOf(ServerAndMore(), {.pid = 99, .self = 21}));
}

TEST(FamilyTest, WhatTheSystemNeedsIsNotMoved) {
  EXPECT_THAT(MovableOf(ServerAndMore(), {.pid = 1, .self = 21}), HasSubstr("process 1 (init) is the first process"));
  EXPECT_THAT(MovableOf(ServerAndMore(), {.pid = 2, .self = 21}), HasSubstr("process 2 (kthreadd) is a thread of the"));
}

TEST(FamilyTest, BerthdAndItsSupervisorsAreNotMovedNorWhatTheyDescendFrom) {
  EXPECT_THAT(MovableOf(ServerAndMore(), {.pid = 31, .self = 21}), HasSubstr("process 31 (berthd) is a berthd"));
  EXPECT_THAT(MovableOf(ServerAndMore(), {.pid = 32, .self = 21}), HasSubstr("process 32 (berth-shim) is a berthd or"));
  EXPECT_THAT(MovableOf(ServerAndMore(), {.pid = 33, .self = 21, .berthd = 33}), HasSubstr("(renamed) is a berthd"));
  EXPECT_THAT(MovableOf(ServerAndMore(), {.pid = 30, .self = 21}),
              HasSubstr("process 31 (berthd), which descends from process 30 (sh), is a berthd"));
}

TEST(FamilyTest, WhoAsksMovesNeitherHimselfNorHisAncestors) {
  EXPECT_THAT(MovableOf(ServerAndMore(), {.pid = 21, .self = 21}),
              HasSubstr("process 21 (berth) is the one that asks"));
  EXPECT_THAT(MovableOf(ServerAndMore(), {.pid = 20, .self = 21}),
              HasSubstr("process 21 (berth), which descends from process 20 (bash), is the one that asks"));
}

TEST(FamilyTest, WhatHasAPlaceIsMovedWhenAskedForUnlessItIsAPods) {
  const std::vector<Relative> placed = {
      {.pid = 1, .parent = 0, .program = "init"},
      {.pid = 40, .parent = 1, .program = "pod", .group = "/kubepods.slice/kubepods-podab.slice/x.scope"},
      {.pid = 41, .parent = 1, .program = "docker", .group = "/system.slice/docker-0a.scope"},
      {.pid = 42, .parent = 1, .program = "nested", .pids = "42\t1"},
      {.pid = 43, .parent = 1, .program = "bound", .group = "/theirs/below"},
      {.pid = 44, .parent = 1, .program = "free", .group = "/all"}};
  EXPECT_THAT(MovableOf(placed, {.pid = 40}), HasSubstr("process 40 (pod) is of a pod (cgroup /kubepods.slice/"));
  EXPECT_THAT(MovableOf(placed, {.pid = 41}), HasSubstr("process 41 (docker) is in a container; --even-placed"));
  EXPECT_THAT(MovableOf(placed, {.pid = 42}), HasSubstr("process 42 (nested) is in a container; --even-placed"));
  EXPECT_THAT(
      MovableOf(placed, {.pid = 43}),
      HasSubstr("process 43 (bound) is in the cpuset /theirs/below (CPUs 2-3) of somebody else; --even-placed"));
  EXPECT_EQ("free: 44", MovableOf(placed, {.pid = 44}));
  for (const int pid : {41, 42, 43})
    EXPECT_THAT(MovableOf(placed, {.pid = pid, .takes_from = TakesFrom::kContainers}),
                HasSubstr(": " + std::to_string(pid)));
  EXPECT_THAT(MovableOf(placed, {.pid = 40, .takes_from = TakesFrom::kContainers}), HasSubstr("is of a pod"));
  EXPECT_EQ("pod: 40", MovableOf(placed, {.pid = 40, .takes_from = TakesFrom::kAnywhere}));
  EXPECT_THAT(MovableOf(placed, {.pid = 1, .takes_from = TakesFrom::kAnywhere}), HasSubstr("first process"));
}

TEST(FamilyTest, ParentsThatSeemToGoRoundAreSeenOnce) {
  EXPECT_EQ(
      "a: 50 51",
      MovableOf({{.pid = 50, .parent = 51, .program = "a"}, {.pid = 51, .parent = 50, .program = "b"}}, {.pid = 50}));
}

}  // namespace
}  // namespace berth::cgroup
