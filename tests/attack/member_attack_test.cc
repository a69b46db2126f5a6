// Attacks by a user who is a member of socketGroup, and by one who is not.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <thread>

#include "attack_fixture.h"

namespace berth::testkit {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kGroup = "games";  // any that every host has
constexpr uid_t kNobody = 65534;

struct MemberAttackTest : AttackTest {
  bool starts_itself() const override { return true; }
  std::vector<std::string> arguments() const override {
    return {"--config", node.Dir("berth.yaml"), "--socket", node.socket()};
  }
  void SetUp() override {
    AttackTest::SetUp();
    if (IsSkipped()) return;
    if (::getgrnam(kGroup) == nullptr) GTEST_SKIP() << "there is no group " << kGroup;
    std::ofstream(node.Dir("berth.yaml"))
        << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nsocketGroup: " << kGroup << "\n";
    ::chmod(node.Dir(".").c_str(), 0755);
    Begin();
  }
  /// Does something as a user without rights: the kernel's calls change the thread's user only.
  static void As(gid_t group, const std::function<void()>& deed) {
    std::thread([&] {
      ASSERT_EQ(::syscall(SYS_setgroups, 0, nullptr), 0);
      ASSERT_EQ(::syscall(SYS_setresgid, group, group, group), 0);
      ASSERT_EQ(::syscall(SYS_setresuid, kNobody, kNobody, kNobody), 0);
      deed();
    }).join();
  }
  int TryToOpen(const std::string& path, int flags) const {
    const os::UniqueFd fd(::open(node.Dir(path).c_str(), flags | O_CLOEXEC, 0600));
    return fd.valid() ? 0 : errno;
  }
  static gid_t Members() { return ::getgrnam(kGroup)->gr_gid; }
};

TEST_F(MemberAttackTest, WhoIsNoMemberGetsNoConnection) {
  As(kNobody, [&] {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    node.socket().copy(address.sun_path, sizeof address.sun_path - 1);
    const os::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), -1);
    EXPECT_EQ(errno, EACCES);
  });
}

TEST_F(MemberAttackTest, AMemberUsesTheApiAndGetsAtNoFileBesides) {
  const std::string log = node.PodNamed("steady")["containers"][0]["logPath"].get<std::string>();
  As(Members(), [&] {
    EXPECT_THAT(PostManifest(ScriptPod("theirs", "sleep 1000")), StartsWith("HTTP/1.1 200"));
    for (const char* const path : {"state/ledger.json", "run/containers", "state", "berthd.log"})
      EXPECT_EQ(TryToOpen(path, O_RDONLY), EACCES) << path;
    EXPECT_EQ(::access(log.c_str(), R_OK), -1);
    for (const char* const path : {"pods/planted.yaml", "run/planted", "log/planted", "state/planted"})
      EXPECT_EQ(TryToOpen(path, O_WRONLY | O_CREAT), EACCES) << path;
    EXPECT_EQ(::rename(node.socket().c_str(), node.Dir("run/other").c_str()), -1);
    EXPECT_EQ(::unlink(node.socket().c_str()), -1);
  });
  EXPECT_TRUE(node.Until("their pod runs", [&] { return node.Runs("theirs"); }));
}

TEST_F(MemberAttackTest, NoNameLeadsTheApiToOtherFiles) {
  const std::string secret = "nobody else may read this";
  std::ofstream(node.Dir("secret.log")) << "2026-01-01T00:00:00.000000000Z stdout F " << secret << "\n";
  ::chmod(node.Dir("secret.log").c_str(), 0600);
  const std::string up = "..%2f..%2f..%2f..%2f..%2f..%2f..%2f";
  const auto get = [&](const std::string& path) { return Say("GET " + path + " HTTP/1.1\r\nHost: berth\r\n\r\n"); };
  As(Members(), [&] {
    const std::string logs = "/v1/logs/default/steady/";
    for (const std::string& path :
         {logs + up + node.Dir("secret.log"), "/v1/logs/" + up + "/" + up + "/secret.log", logs + "../../../secret.log",
          logs + "app?log=" + node.Dir("secret.log") + "&after=0", logs + "app?log=../../../secret.log&after=0",
          logs + "app?log=" + up + node.Dir("secret.log") + "&after=0", "/v1/pods/default/" + up + "etc%2fpasswd",
          std::string("/../../../../../../../../etc/passwd"), std::string("/v1/logs/default/steady%00/app")}) {
      const std::string answer = get(path);
      EXPECT_THAT(answer, Not(HasSubstr(secret))) << path;
      EXPECT_THAT(answer, Not(HasSubstr("root:"))) << path;
      EXPECT_THAT(answer, StartsWith("HTTP/1.1 4")) << path;
    }
    for (const char* const name : {"../../evil", "/evil", "..", ".", "a/b", "", "%2e%2e"}) {
      EXPECT_THAT(PostManifest(ScriptPod("'" + std::string(name) + "'", "true")), StartsWith("HTTP/1.1 4")) << name;
      const std::string pod = "{apiVersion: v1, kind: Pod, metadata: {name: good, namespace: '" + std::string(name) +
                              "'}, spec: {containers: [{name: a, image: i, command: [sleep, '9']}]}}";
      EXPECT_THAT(PostManifest(pod), StartsWith(*name == '\0' ? "HTTP/1.1 200" : "HTTP/1.1 4")) << name;
    }
    EXPECT_THAT(Say("DELETE /v1/pods/default/" + up + "secret.log HTTP/1.1\r\nHost: berth\r\n\r\n"),
                StartsWith("HTTP/1.1 4"));
  });
  struct stat info{};
  EXPECT_EQ(::stat(node.Dir("secret.log").c_str(), &info), 0);
}

}  // namespace
}  // namespace berth::testkit
