#include "runtime/process/record.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "base/text_record.h"

namespace berth::runtime {
namespace {

ShimRequest FullRequest() {
  ShimRequest request;
  request.id = "uid.app.3.1f";
  request.pod_uid = "uid";
  request.pod_namespace = "default";
  request.pod_name = "web";
  request.container = "app";
  request.attempt = 3;
  request.argv = {"/bin/sh", "-c", "echo 'a\nb' \\ \x01 \xff", ""};
  request.env = {"A=1", "EMPTY=", "NL=\n"};
  request.working_dir = "/tmp/with blank";
  request.cgroup = {.v2 = true, .dirs = {"/sys/fs/cgroup/x"}};
  request.oom_score_adj = -997;
  request.privileged = true;
  request.added_capabilities = {"SYS_PTRACE", "NET_ADMIN"};
  request.dropped_capabilities = {"ALL", "CHOWN"};
  request.user = 1000;
  request.group = 0;
  request.groups = {50, 4'294'967'294};
  request.only_those_groups = true;
  request.no_new_privileges = true;
  request.read_only_root = true;
  request.volumes = {
      {.source = "/a b", .target = "/data\n", .read_only = true},
      {.source = "/c", .target = "/d", .recursive_read_only = true, .propagation = os::Volume::Propagation::kBoth}};
  request.seccomp = "Localhost";
  request.seccomp_profile = "apps/x y.json";
  request.seccomp_filter = {0, 0x7fff000000000006, 0xffffffffffffffff};
  request.log_path = "/var/log/x";
  request.log_max_bytes = 1U << 30;
  request.log_max_files = 5;
  return request;
}

ShimState FullState() {
  ShimState state;
  state.phase = ShimPhase::kExited;
  state.boot_id = "boot";
  state.shim_pid = 12;
  state.shim_start = 34;
  state.pid = 56;
  state.start = 78;
  state.cgroups = {"3:cpuset:/x", "0::/y"};
  state.started_at = "2026-01-02T03:04:05.000000Z";
  state.finished_at = "2026-01-02T03:04:06.000000Z";
  state.exit_code = 137;
  state.signal = 9;
  state.oom_killed = true;
  state.message = "two\nlines";
  state.warnings = {"w1", ""};
  return state;
}

TEST(RecordTest, WhatIsWrittenReadsBack) {
  EXPECT_EQ(ParseRequest(FormatRequest(FullRequest())), FullRequest());
  EXPECT_EQ(ParseState(FormatState(FullState())), FullState());
  EXPECT_EQ(ParseState(FormatState(ShimState{})), ShimState{});
}

TEST(RecordTest, ARequestOfAnOlderBerthdSaysNothingOfUsers) {
  RecordWriter older("berth-request 1");
  for (const auto& [key, value] : {std::pair("id", "uid.app.0.1"), std::pair("attempt", "2"), std::pair("arg", "true"),
                                   std::pair("cgroup_v2", "1"), std::pair("oom_score_adj", "-997"),
                                   std::pair("log_max_bytes", "1"), std::pair("log_max_files", "1")})
    older.Item(key, value);
  const Result<ShimRequest> request = ParseRequest(older.Finish());
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->argv, std::vector<std::string>{"true"});
  EXPECT_FALSE(request->privileged || request->user || request->group || request->no_new_privileges);
  EXPECT_TRUE(request->groups.empty() && request->dropped_capabilities.empty());
}

TEST(RecordTest, EveryPhaseReadsBack) {
  for (const ShimPhase phase :
       {ShimPhase::kReady, ShimPhase::kStarting, ShimPhase::kRunning, ShimPhase::kExited, ShimPhase::kFailed}) {
    ShimState state;
    state.phase = phase;
    EXPECT_EQ(ParseState(FormatState(state)), state) << Name(phase);
  }
}

TEST(RecordTest, TornAndEditedFilesAreCorrupt) {
  const std::string text = FormatState(FullState());
  for (std::size_t size = 0; size < text.size(); ++size) {
    const Result<ShimState> state = ParseState(text.substr(0, size));
    ASSERT_FALSE(state) << size;
    EXPECT_EQ(state.error().code, Code::kCorrupt);
  }
  std::mt19937_64 random(11);
  for (int i = 0; i < 2000; ++i) {
    std::string edited = text;
    edited[random() % edited.size()] ^= static_cast<char>(1U << (random() % 8));
    EXPECT_FALSE(ParseState(edited)) << edited;
  }
  EXPECT_FALSE(ParseState(text + "x"));
  EXPECT_FALSE(ParseState(text + text));
  EXPECT_FALSE(ParseState(FormatRequest(FullRequest()))) << "another kind of record";
}

TEST(RecordTest, MessagesSayWhatIsWrong) {
  EXPECT_EQ(ParseState("").error().message, "container state: no checksum line");
  EXPECT_EQ(ParseState("sum 0000000000000000\n").error().message, "container state: the checksum does not fit");
  ShimRequest no_command = FullRequest();
  no_command.argv.clear();
  EXPECT_EQ(ParseRequest(FormatRequest(no_command)).error().message, "container request: there is no command");
}

TEST(RecordTest, OwnCgroupsAreThoseTheContainerWasPutInto) {
  const std::vector<std::string> lines = {"4:memory:/berth/pod1/app", "3:cpuset:/berth/pod1/app", "2:cpu:/",
                                          "1:name=systemd:/system.slice/x", "0::/berth/pod1/app"};
  const std::vector<std::string> dirs = {"/sys/fs/cgroup/cpuset/berth/pod1/app",
                                         "/sys/fs/cgroup/memory/berth/pod1/app"};
  const std::vector<std::string> own = OwnCgroupLines(lines, dirs);
  EXPECT_EQ(own, (std::vector<std::string>{lines[0], lines[1], lines[4]}));
  EXPECT_TRUE(OwnCgroupLines(lines, {}).empty());

  EXPECT_TRUE(IsInCgroups(lines, own));
  EXPECT_TRUE(IsInCgroups({"3:cpuset:/berth/pod1/app/below"}, own));
  EXPECT_FALSE(IsInCgroups({"3:cpuset:/berth/pod1/app2"}, own));
  EXPECT_FALSE(IsInCgroups({"3:cpuset:/berth/pod1", "4:memory:/"}, own));
  EXPECT_FALSE(IsInCgroups({}, own));
  EXPECT_TRUE(IsInCgroups(lines, {}));
}

}  // namespace
}  // namespace berth::runtime
