// The CRI client against the containerd of this host, and against what is none.
#include "runtime/cri/cri_client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "containerd_fixture.h"
#include "host/os/unique_fd.h"

namespace berth::cri {
namespace {

using testkit::ContainerdFixture;
using testkit::kTestImage;
using State = ContainerEntry::State;

/// A socket at `path` that takes connections and answers each with `answer`.
class FalseRuntime {
 public:
  FalseRuntime(const std::string& path, std::string answer)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    EXPECT_EQ(0, ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    EXPECT_EQ(0, ::listen(fd_.get(), 8));
    thread_ = std::thread([this] {
      for (;;) {
        const os::UniqueFd peer(::accept(fd_.get(), nullptr, nullptr));
        if (!peer.valid()) return;
        char buffer[4096];
        if (answer_.empty()) {  // listens until the other side has had enough
          while (::read(peer.get(), buffer, sizeof buffer) > 0) continue;
        } else if (::read(peer.get(), buffer, sizeof buffer) > 0) {
          ::send(peer.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
        }
      }
    });
  }
  ~FalseRuntime() {
    ::shutdown(fd_.get(), SHUT_RDWR);
    thread_.join();
  }

 private:
  os::UniqueFd fd_;
  std::string answer_;
  std::thread thread_;
};

Error RefusalOf(const Client& client) {
  auto version = client.Handshake();
  EXPECT_FALSE(version);
  return version ? Error{} : version.error();
}

TEST(CriClientTest, NamesAMissingSocketWithTheCure) {
  const testkit::TempDir temp;
  const Error error = RefusalOf(Client(temp / "none.sock"));
  EXPECT_EQ(Code::kNotFound, error.code);
  EXPECT_NE(std::string::npos, error.message.find("there is no such socket; start the runtime")) << error.message;
}

TEST(CriClientTest, RefusesAFileThatIsNoSocket) {
  const testkit::TempDir temp;
  std::ofstream(temp / "file") << "x";
  const Error error = RefusalOf(Client(temp / "file"));
  EXPECT_EQ(Code::kInvalid, error.code);
  EXPECT_NE(std::string::npos, error.message.find("this is not a socket")) << error.message;
}

TEST(CriClientTest, SaysThatASocketIsNoContainerRuntime) {
  const testkit::TempDir temp;
  const FalseRuntime http(temp / "http.sock", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
  const Error error = RefusalOf(Client(temp / "http.sock"));
  EXPECT_EQ(Code::kUncertain, error.code);
  EXPECT_NE(std::string::npos, error.message.find("is this a container runtime?")) << error.message;
}

TEST(CriClientTest, GivesUpARuntimeThatDoesNotAnswerInTime) {
  const testkit::TempDir temp;
  const FalseRuntime deaf(temp / "deaf.sock", "");
  const Error error = RefusalOf(Client(temp / "deaf.sock", {.handshake = os::Millis(50)}));
  EXPECT_EQ(Code::kTimeout, error.code);
  EXPECT_NE(std::string::npos, error.message.find("no answer in time")) << error.message;
}

TEST(CriClientTest, TakesEndpointsAsTheKubeletWritesThem) {
  EXPECT_EQ("/run/x.sock", *SocketOf("unix:///run/x.sock"));
  EXPECT_EQ("/run/x.sock", *SocketOf("/run/x.sock"));
  for (const char* const bad : {"", "tcp://localhost:1", "run/x.sock", "unix://", "npipe:////./pipe/x"})
    EXPECT_EQ(Code::kInvalid, SocketOf(bad).error().code) << bad;
}

// ---- with the real one ----

struct CriContainerdTest : testing::Test {
  void SetUp() override {
    if (const auto why = ContainerdFixture::WhyNot()) GTEST_SKIP() << *why;
    containerd.emplace();
    containerd->Start();
  }

  SandboxSpec Sandbox(const std::string& uid) const {
    return {.name = "web",
            .namespace_ = "default",
            .uid = uid,
            .hostname = "web",
            .log_directory = containerd->Dir("logs"),
            .cgroup_parent = containerd->cgroup_root() + "/pod" + uid,
            .labels = {{"berth.test", uid}},
            .namespaces = {.host_network = true}};
  }
  static ContainerSpec Container(const std::string& script) {
    return {.name = "app",
            .image = kTestImage,
            .user_image = kTestImage,
            .command = {"/bin/sh", "-c", script},
            .env = {{"WHO", "berth"}},
            .labels = {{"berth.test", "u"}},
            .log_path = "app/0.log",
            .resources = {.cpu_shares = 512, .memory_limit = 64 << 20, .cpus = "0", .mems = "0"}};
  }
  State StateOf(const Client& client, const std::string& id) {
    const auto status = client.Status(id);
    return status ? status->state : State::kUnknown;
  }

  std::optional<ContainerdFixture> containerd;
};

TEST_F(CriContainerdTest, ShakesHands) {
  const Client client(containerd->socket());
  const auto version = client.Handshake();
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ("containerd", version->name);
  EXPECT_EQ("v1", version->api);
  const auto status = client.AskStatus();
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_EQ(1U, status->not_ready.size());
  EXPECT_TRUE(status->not_ready.front().starts_with("NetworkReady: ")) << status->not_ready.front();
  EXPECT_TRUE(client.CgroupDriver());
  const std::optional<bool> cdi = status->features.cdi;  // as it is where nobody sets enable_cdi
  EXPECT_EQ(cdi.has_value(), !version->version.starts_with("1.6."));
  EXPECT_EQ(cdi.value_or(false), !version->version.starts_with("1.")) << version->version;
}

TEST_F(CriContainerdTest, RefusesARuntimeWithoutTheInterface) {
  containerd->Kill();
  containerd->Start(ContainerdFixture::With::kNothing);
  const Error error = RefusalOf(Client(containerd->socket()));
  EXPECT_EQ(Code::kUnsupported, error.code);
  EXPECT_NE(std::string::npos, error.message.find("does not speak version v1")) << error.message;
}

TEST_F(CriContainerdTest, RunsAContainerWithItsResourcesAndLeavesNothing) {
  const Client client(containerd->socket());
  std::filesystem::create_directories(containerd->Dir("logs/app"));
  const SandboxSpec sandbox = Sandbox("u");
  const auto pod = client.RunSandbox(sandbox);
  ASSERT_TRUE(pod) << pod.error().message;
  const auto id = client.Create(*pod, Container("echo hello $WHO; trap 'exit 3' TERM; sleep 60 & wait"), sandbox);
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ(State::kCreated, StateOf(client, *id));
  const auto started = client.Start(*id);
  ASSERT_TRUE(started) << started.error().message;
  const auto status = client.Status(*id);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(State::kRunning, status->state);
  EXPECT_GT(status->pid, 1);
  EXPECT_EQ("0", containerd->Value("cpuset", *id, "cpuset.cpus"));
  const std::string limit = containerd->Value("memory", *id, "memory.limit_in_bytes");  // cgroup v1
  EXPECT_EQ("67108864", limit.empty() ? containerd->Value("memory", *id, "memory.max") : limit);

  const auto updated = client.Update(*id, {.cpus = "0-1"});
  ASSERT_TRUE(updated) << updated.error().message;
  EXPECT_EQ("0-1", containerd->Value("cpuset", *id, "cpuset.cpus"));
  const auto ran = client.Exec(*id, {"/bin/sh", "-c", "echo out; echo err >&2; exit 7"}, std::chrono::seconds(10));
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ("out\n", ran->out);
  EXPECT_EQ("err\n", ran->err);
  EXPECT_EQ(7, ran->exit_code);
  const auto listed = client.Containers({{"berth.test", "u"}});
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(1U, listed->size());
  EXPECT_EQ(*id, listed->front().id);
  EXPECT_EQ(*pod, listed->front().sandbox_id);
  EXPECT_TRUE(client.Containers({{"berth.test", "other"}})->empty());

  ASSERT_TRUE(client.Stop(*id, std::chrono::seconds(20)));
  const auto ended = client.Status(*id);
  ASSERT_TRUE(ended);
  EXPECT_EQ(State::kExited, ended->state);
  EXPECT_EQ(3, ended->exit_code);
  std::ifstream log(containerd->Dir("logs/app/0.log"));
  std::string line;
  std::getline(log, line);
  EXPECT_TRUE(line.ends_with(" stdout F hello berth")) << line;
  EXPECT_TRUE(client.Remove(*id));
  EXPECT_TRUE(client.StopSandbox(*pod));
  EXPECT_TRUE(client.RemoveSandbox(*pod));
  for (const Result<void>& again : {client.Stop(*id, std::chrono::seconds(0)), client.Remove(*id),
                                    client.StopSandbox(*pod), client.RemoveSandbox(*pod)})
    EXPECT_TRUE(again) << again.error().message;  // gone already
  EXPECT_TRUE(client.Sandboxes({})->empty());
  EXPECT_EQ(Code::kNotFound, client.Status(*id).error().code);
  EXPECT_TRUE(containerd->Until("no shim is left", [&] { return containerd->Shims().empty(); }));
  EXPECT_TRUE(containerd->Mounts().empty());
}

TEST_F(CriContainerdTest, SaysWhatIsWrongWithImagesAndCommands) {
  const Client client(containerd->socket());
  const SandboxSpec sandbox = Sandbox("bad");
  const auto pod = client.RunSandbox(sandbox);
  ASSERT_TRUE(pod) << pod.error().message;
  const auto there = client.FindImage(kTestImage);
  ASSERT_TRUE(there && *there);
  EXPECT_EQ(kTestImage, (*there)->tags.at(0));
  EXPECT_FALSE(*client.FindImage("localhost/berth/none:1"));
  EXPECT_FALSE(client.Pull("localhost:1/none:1", {}, nullptr));

  const auto id = client.Create(
      *pod,
      [] {
        ContainerSpec spec = Container("");
        spec.command = {"/no/such/program"};
        return spec;
      }(),
      sandbox);
  ASSERT_TRUE(id) << id.error().message;
  const auto started = client.Start(*id);
  ASSERT_FALSE(started);
  EXPECT_NE(std::string::npos, started.error().message.find("/no/such/program")) << started.error().message;
  const auto status = client.Status(*id);
  ASSERT_TRUE(status);
  EXPECT_EQ(State::kExited, status->state);
  EXPECT_EQ(128, status->exit_code);
  EXPECT_TRUE(client.RemoveSandbox(*pod));
}

TEST_F(CriContainerdTest, AFrozenRuntimeCostsOneDeadlineAndNothingMore) {
  const Client client(containerd->socket(), {.usual = os::Millis(100), .handshake = os::Millis(100)});
  containerd->Freeze(true);
  EXPECT_EQ(Code::kTimeout, client.Sandboxes({}).error().code);
  containerd->Freeze(false);
  EXPECT_TRUE(containerd->Until("it answers again", [&] { return client.Sandboxes({}).has_value(); }));
  containerd->Kill();
  EXPECT_EQ(Code::kUnreachable, client.Sandboxes({}).error().code);
  containerd->Start();
  EXPECT_TRUE(containerd->Until("it answers once more", [&] { return client.Sandboxes({}).has_value(); }));
}

}  // namespace
}  // namespace berth::cri
