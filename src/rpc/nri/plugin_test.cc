// A plug-in beside a runtime that is made up.
#include "rpc/nri/plugin.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <thread>

#include "host/os/poll.h"
#include "nri.pb.h"
#include "rpc/grpc/transport.h"
#include "rpc/nri/versions.h"
#include "rpc/ttrpc/peer.h"
#include "testing/fixtures.h"

namespace berth::nri {
namespace {

namespace pb = ::nri::pkg::api::v1alpha1;

constexpr os::Millis kLong{20'000};
const std::string kPlugin = "nri.pkg.api.v1alpha1.Plugin";
const std::string kRuntime = "nri.pkg.api.v1alpha1.Runtime/";

os::MonoTime In(os::Millis time) { return os::SystemClock().Now() + time; }

bool Eventually(const std::function<bool()>& condition) {
  for (const os::MonoTime end = In(kLong); os::SystemClock().Now() < end; os::SleepFor(os::Millis(2)))
    if (condition()) return true;
  return false;
}

/// Puts down what it is asked, and answers as it is told to.
struct NotingHandler final : Handler {
  using Updates = std::vector<Update>;
  void Joined(const Runtime& runtime) override { Note("joined " + runtime.name); }
  void Synchronize(Inventory inventory, Answer<Updates> answer) override {
    Note("synchronize " + std::to_string(inventory.pods.size()) + " " + std::to_string(inventory.containers.size()));
    answer.Give(synchronized);
  }
  void Left(const std::string&) override { Note("left"); }
  void CreateContainer(Pod pod, Container container, Answer<Creation> answer) override {
    Note("create " + pod.name + "/" + container.name);
    if (create) create(answer);
  }
  void UpdateContainer(Pod, Container container, Resources wanted, Answer<Updates> answer) override {
    Note("update " + container.id + " " + wanted.cpus);
    answer.Give(Updates{{.container_id = container.id, .resources = {.cpus = "7"}}});
  }
  void StartContainer(Pod pod, Container container, Answer<Ready> answer) override {
    Note("start " + pod.name + "/" + container.name);
    if (start)
      start(answer);
    else
      answer.Give(Ready{});
  }
  void StopContainer(Pod, Container container, Answer<Updates> answer) override {
    Note("stop " + container.id);
    answer.Give(Updates{});
  }
  void UpdatePod(Pod pod, Resources, Resources wanted) override { Note("update pod " + pod.name + " " + wanted.cpus); }
  void Happened(Event event, Pod pod, std::optional<Container> container) override {
    Note("event " + std::to_string(static_cast<int>(event)) + " " + pod.name +
         (container ? "/" + container->name : ""));
  }

  void Note(const std::string& what) {
    const MutexLock lock(mutex);
    notes.push_back(what);
  }
  std::vector<std::string> Notes() {
    const MutexLock lock(mutex);
    return notes;
  }
  bool Has(const std::string& what) {
    return Eventually([&] {
      const auto all = Notes();
      return std::ranges::find(all, what) != all.end();
    });
  }
  Updates synchronized;
  std::function<void(const Answer<Creation>&)> create;
  std::function<void(const Answer<Ready>&)> start;  // null: it may run
  Mutex mutex;
  std::vector<std::string> notes BERTH_GUARDED_BY(mutex);
};

/// The other side: listens, takes one plug-in at a time, and asks what the test says.
struct FalseRuntime {
  explicit FalseRuntime(const std::string& path) : listener(*grpc::UnixListener::Open(path, 0600)) {}

  void Accept() {
    ASSERT_TRUE(*os::WaitFor(listener.fd(), POLLIN, In(kLong)));
    Adopt(os::UniqueFd(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC)));
  }
  void Adopt(os::UniqueFd socket) {
    ttrpc::Handlers handlers;
    handlers[kRuntime + "RegisterPlugin"] = [this](const auto&, const std::string& payload) -> ttrpc::Reply {
      pb::RegisterPluginRequest request;
      request.ParseFromString(payload);
      const MutexLock lock(mutex);
      registered = request.plugin_idx() + "-" + request.plugin_name();
      if (!refusal.empty()) return std::unexpected(grpc::Status(grpc::StatusCode::kUnknown, refusal));
      return "";
    };
    peer = *ttrpc::Peer::Start(grpc::SocketTransport(std::move(socket)), "the plug-in", std::move(handlers),
                               {.lanes = {.answers = 2, .asks = 1}});
  }
  bool Registered(const std::string& who) {
    return Eventually([&] {
      const MutexLock lock(mutex);
      return registered == who;
    });
  }
  template <class Out>
  Out Ask(const std::string& method, const google::protobuf::MessageLite& request, os::Millis within = kLong) {
    Out out;
    const auto said = peer->Call(kPlugin, method, request.SerializeAsString(), {.deadline = In(within)});
    EXPECT_TRUE(said) << method << ": " << said.error().message;
    EXPECT_TRUE(!said || out.ParseFromString(*said));
    return out;
  }
  /// Accepts a plug-in and takes it in. Returns the events it wants.
  std::uint32_t TakeIn(const std::string& version = "1.7.24", std::int64_t timeout_ms = 0) {
    Accept();
    EXPECT_TRUE(Registered("50-berth"));
    const std::uint32_t out = Configure(version, timeout_ms);
    Ask<pb::SynchronizeResponse>("Synchronize", pb::SynchronizeRequest());
    return out;
  }
  std::uint32_t Configure(const std::string& version, std::int64_t timeout_ms = 0) {
    pb::ConfigureRequest request;
    request.set_runtime_name("containerd");
    request.set_runtime_version(version);
    request.set_request_timeout(timeout_ms);
    return static_cast<std::uint32_t>(Ask<pb::ConfigureResponse>("Configure", request).events());
  }
  /// With what the plug-in answered, or why not.
  Result<pb::CreateContainerResponse> Create(const std::string& name) {
    pb::CreateContainerRequest request;
    request.mutable_pod()->set_name("pod");
    request.mutable_container()->set_name(name);
    BERTH_TRY(const auto said,
              peer->Call(kPlugin, "CreateContainer", request.SerializeAsString(), {.deadline = In(kLong)}));
    pb::CreateContainerResponse out;
    EXPECT_TRUE(out.ParseFromString(said));
    return out;
  }

  grpc::UnixListener listener;
  Mutex mutex;
  std::string registered BERTH_GUARDED_BY(mutex);
  std::string refusal BERTH_GUARDED_BY(mutex);
  std::unique_ptr<ttrpc::Peer> peer;
};

struct NriPluginTest : testing::Test {
  std::unique_ptr<Plugin> Join(PluginOptions options = {}) {
    options.socket = path;
    auto out = Plugin::Start(options, handler);
    EXPECT_TRUE(out) << out.error().message;
    return *std::move(out);
  }
  bool Joined(const Plugin& plugin, std::uint64_t joins = 1) {
    return Eventually([&] { return plugin.status().joined && plugin.status().joins == joins; });
  }
  testkit::TempDir temp;
  std::string path = temp / "nri.sock";
  FalseRuntime runtime{path};
  NotingHandler handler;
};

TEST_F(NriPluginTest, JoinsHearsWhatThereIsAndAnswers) {
  handler.synchronized = {{.container_id = "c1", .resources = {.cpus = "0"}}};
  handler.create = [](const Answer<Creation>& answer) {
    EXPECT_TRUE(answer.Give(Creation{.adjustment = {.resources = {.cpus = "3"}},
                                     .updates = {{.container_id = "c1", .resources = {.cpus = "0-2"}}}}));
    EXPECT_FALSE(answer.Give(Creation{}));
  };
  const auto plugin = Join();
  runtime.Accept();
  ASSERT_TRUE(runtime.Registered("50-berth"));
  EXPECT_EQ(0U, runtime.Configure("1.7.24") & ~0x7FFU);
  pb::SynchronizeRequest there;
  there.add_pods()->set_id("p1");
  there.add_containers()->set_id("c1");
  const auto synchronized = runtime.Ask<pb::SynchronizeResponse>("Synchronize", there);
  ASSERT_EQ(1, synchronized.update_size());
  EXPECT_EQ("0", synchronized.update(0).linux().resources().cpu().cpus());
  EXPECT_TRUE(Joined(*plugin));

  const auto created = runtime.Create("main");
  ASSERT_TRUE(created);
  EXPECT_EQ("3", created->adjust().linux().resources().cpu().cpus());
  ASSERT_EQ(1, created->update_size());
  EXPECT_EQ("c1", created->update(0).container_id());

  pb::UpdateContainerRequest update;
  update.mutable_container()->set_id("c2");
  update.mutable_linux_resources()->mutable_cpu()->set_cpus("0");
  const auto updated = runtime.Ask<pb::UpdateContainerResponse>("UpdateContainer", update);
  EXPECT_EQ("7", updated.update(0).linux().resources().cpu().cpus());
  runtime.Ask<pb::StopContainerResponse>("StopContainer", update);
  const std::vector<std::string> want = {"joined containerd", "synchronize 1 1", "create pod/main", "update c2 0",
                                         "stop c2"};
  EXPECT_EQ(want, handler.Notes());
  EXPECT_EQ("1.7.24", plugin->status().runtime->version);
}

TEST_F(NriPluginTest, AsksOnlyForEventsThatTheRuntimeKnows) {
  const auto plugin = Join();
  runtime.Accept();
  const std::uint32_t wanted = MaskOf(PluginOptions().events);
  EXPECT_EQ(wanted & 0x7FFU, runtime.Configure("2.1.9+unknown"));
  EXPECT_EQ(wanted, runtime.Configure("2.2.0"));
  EXPECT_NE(wanted, wanted & 0x7FFU);
}

TEST_F(NriPluginTest, HearsTheSameNewsInTheOlderWayAndTheNewer) {
  const auto plugin = Join();
  runtime.TakeIn();
  pb::StateChangeEvent older;
  older.set_event(pb::RUN_POD_SANDBOX);
  older.mutable_pod()->set_name("a");
  runtime.Ask<pb::StateChangeEvent>("StateChange", older);
  older.set_event(static_cast<pb::Event>(77));
  runtime.Ask<pb::StateChangeEvent>("StateChange", older);
  pb::UpdateContainerRequest newer;
  newer.mutable_pod()->set_name("b");
  runtime.Ask<pb::StateChangeEvent>("RunPodSandbox", newer);
  newer.mutable_container()->set_name("c");
  runtime.Ask<pb::StateChangeEvent>("RemoveContainer", newer);
  pb::UpdatePodSandboxRequest pod;
  pod.mutable_pod()->set_name("d");
  pod.mutable_linux_resources()->mutable_cpu()->set_cpus("5");
  runtime.Ask<pb::StateChangeEvent>("UpdatePodSandbox", pod);
  EXPECT_TRUE(handler.Has("update pod d 5"));
  const std::vector<std::string> want = {"joined containerd", "synchronize 0 0", "event 1 a",
                                         "event 1 b",         "event 11 b/c",    "update pod d 5"};
  EXPECT_EQ(want, handler.Notes());
  const auto validate = runtime.peer->Call(kPlugin, "ValidateContainerAdjustment", "", {.deadline = In(kLong)});
  EXPECT_EQ(Code::kUnsupported, validate.error().code);
}

TEST_F(NriPluginTest, AnInventoryInPartsIsOne) {
  const auto plugin = Join();
  runtime.Accept();
  runtime.Configure("2.1.9");
  pb::SynchronizeRequest part;
  part.set_more(true);
  for (int i = 0; i < 3; ++i) part.add_pods()->set_id("p");
  part.add_containers()->set_id("c");
  for (int i = 0; i < 4; ++i) {
    part.set_more(i < 3);
    const auto said = runtime.Ask<pb::SynchronizeResponse>("Synchronize", part);
    EXPECT_EQ(i < 3, said.more());
  }
  EXPECT_TRUE(handler.Has("synchronize 12 4"));
}

TEST_F(NriPluginTest, ARefusalReachesTheRuntimeInItsWords) {
  handler.create = [](const Answer<Creation>& answer) { answer.Give(Fail(Code::kExhausted, "no CPUs are left")); };
  const auto plugin = Join();
  runtime.TakeIn();
  const auto created = runtime.Create("main");
  ASSERT_FALSE(created);
  EXPECT_EQ("no CPUs are left", created.error().message);
}

TEST_F(NriPluginTest, AContainerRunsWhenTheHandlerSaysSoInTheOlderWayAndTheNewer) {
  std::atomic<bool> said = false;
  std::thread late;
  handler.start = [&](const Answer<Ready>& answer) {
    if (late.joinable()) late.join();
    late = std::thread([&said, answer] {
      os::SleepFor(os::Millis(30));
      said = true;
      answer.Give(Ready{});
    });
  };
  const auto plugin = Join();
  runtime.TakeIn();
  pb::StateChangeEvent older;
  older.set_event(pb::START_CONTAINER);
  older.mutable_container()->set_name("main");
  runtime.Ask<pb::StateChangeEvent>("StateChange", older);
  EXPECT_TRUE(said);
  said = false;
  pb::UpdateContainerRequest newer;
  newer.mutable_container()->set_name("main");
  runtime.Ask<pb::StateChangeEvent>("StartContainer", newer);
  EXPECT_TRUE(said);
  late.join();
  handler.start = [](const Answer<Ready>& answer) { answer.Give(Fail(Code::kExhausted, "not yet")); };
  const auto refused =
      runtime.peer->Call(kPlugin, "StartContainer", newer.SerializeAsString(), {.deadline = In(kLong)});
  ASSERT_FALSE(refused);
  EXPECT_EQ("not yet", refused.error().message);
}

TEST_F(NriPluginTest, AHandlerThatIsLateIsNotWaitedFor) {
  std::promise<Answer<Creation>> kept;
  handler.create = [&](const Answer<Creation>& answer) { kept.set_value(answer); };
  const auto plugin = Join();
  runtime.TakeIn("1.7.24", 250);
  const auto created = runtime.Create("main");
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_FALSE(created->adjust().has_linux());
  EXPECT_FALSE(kept.get_future().get().Give(Creation{})) << "it must know that it was late";
  EXPECT_EQ(1U, plugin->status().late_answers);
}

TEST_F(NriPluginTest, ALateContainerIsRefusedWhereThatIsWanted) {
  handler.create = [](const Answer<Creation>&) {};
  const auto plugin = Join({.when_late = WhenLate::kRefuse, .longest_answer = os::Millis(20)});
  runtime.TakeIn();
  const auto created = runtime.Create("main");
  ASSERT_FALSE(created);
  EXPECT_EQ("no place was found in time for container main", created.error().message);
}

TEST_F(NriPluginTest, AHandlerThatDoesNotReturnHoldsUpNoAnswer) {
  os::EventFd go = *os::EventFd::Open();
  handler.create = [&](const Answer<Creation>&) { static_cast<void>(os::WaitFor(go.get(), POLLIN, In(kLong))); };
  const auto plugin = Join({.longest_answer = os::Millis(20)});
  runtime.TakeIn();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(runtime.Create("c" + std::to_string(i)));
  go.Signal();
  EXPECT_TRUE(handler.Has("create pod/c2"));
}

TEST_F(NriPluginTest, JoinsAgainWhenTheRuntimeWasAway) {
  const auto plugin = Join();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    runtime.TakeIn();
    ASSERT_TRUE(Joined(*plugin, round));
    runtime.peer.reset();
    ASSERT_TRUE(Eventually([&] { return !plugin->status().joined; }));
  }
  EXPECT_TRUE(Eventually([&] { return std::ranges::count(handler.Notes(), "left") == 3; }));
  EXPECT_EQ("the connection was closed by the other side", plugin->status().last_error);
}

/// By itself it would not try again within this test.
TEST(NriPluginSocketTest, JoinsWhenTheSocketAppearsWithItsFolderAndWhenItAppearsAnew) {
  const testkit::TempDir temp;
  const std::string folder = temp / "run/nri";
  NotingHandler handler;
  PluginOptions options;
  options.socket = folder + "/nri.sock";
  options.between_tries = os::Millis(3'600'000);
  const auto plugin = *Plugin::Start(options, handler);
  const auto joined = [&](std::uint64_t joins) {
    return Eventually([&] { return plugin->status().joined && plugin->status().joins == joins; });
  };
  ASSERT_TRUE(Eventually([&] { return !plugin->status().last_error.empty(); }));
  std::filesystem::create_directories(folder);
  for (std::uint64_t joins = 1; joins <= 3; ++joins) {
    FalseRuntime runtime(options.socket);
    runtime.TakeIn();
    EXPECT_TRUE(joined(joins));
  }
}

TEST_F(NriPluginTest, LeavesARuntimeThatRefusesItAndTriesAgain) {
  {
    const MutexLock lock(runtime.mutex);
    runtime.refusal = "invalid plugin index";
  }
  const auto plugin = Join();
  runtime.Accept();
  ASSERT_TRUE(*os::WaitFor(runtime.peer->ended_fd(), POLLIN, In(kLong)));
  EXPECT_TRUE(
      Eventually([&] { return plugin->status().last_error == "register at " + path + ": invalid plugin index"; }));
  {
    const MutexLock lock(runtime.mutex);
    runtime.refusal.clear();
  }
  runtime.TakeIn();
  EXPECT_TRUE(Joined(*plugin));
}

TEST_F(NriPluginTest, LeavesARuntimeThatDoesNotTakeItIn) {
  const auto plugin = Join({.joining = os::Millis(50)});
  runtime.Accept();
  EXPECT_TRUE(*os::WaitFor(runtime.peer->ended_fd(), POLLIN, In(kLong)));
  EXPECT_TRUE(Eventually([&] { return plugin->status().last_error == "the runtime did not take the plug-in in"; }));
  EXPECT_TRUE(handler.Notes().empty());
}

TEST_F(NriPluginTest, LeavesWhenTheRuntimeShutsItDown) {
  const auto plugin = Join();
  runtime.TakeIn();
  ASSERT_TRUE(Joined(*plugin));
  static_cast<void>(runtime.peer->Call(kPlugin, "Shutdown", "", {.deadline = In(kLong)}));  // it may leave at once
  EXPECT_TRUE(handler.Has("left"));
  EXPECT_EQ("the runtime has shut the plug-in down", plugin->status().last_error);
}

TEST_F(NriPluginTest, OneThatTheRuntimeHasLaunchedEndsWithItsConnection) {
  int fds[2];
  ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
  const auto plugin = Join({.launched_socket = fds[0]});
  runtime.Adopt(os::UniqueFd(fds[1]));
  ASSERT_TRUE(runtime.Registered("50-berth"));
  pb::ConfigureRequest configure;
  configure.set_config("text of a file");
  runtime.Ask<pb::ConfigureResponse>("Configure", configure);
  runtime.Ask<pb::SynchronizeResponse>("Synchronize", pb::SynchronizeRequest());
  ASSERT_TRUE(Joined(*plugin));
  EXPECT_EQ("text of a file", plugin->status().runtime->config);
  runtime.peer.reset();
  EXPECT_TRUE(Eventually([&] { return plugin->status().over; }));
}

TEST_F(NriPluginTest, EndsAtOnceWhateverItWaitsFor) {
  EXPECT_TRUE(Plugin::Start({.socket = temp / "none"}, handler));
  auto plugin = Join();
  runtime.TakeIn();
  plugin.reset();
  EXPECT_TRUE(*os::WaitFor(runtime.peer->ended_fd(), POLLIN, In(kLong)));
  EXPECT_TRUE(handler.Has("left"));
}

TEST_F(NriPluginTest, RefusesANameOrAnIndexThatNoRuntimeTakes) {
  EXPECT_EQ(Code::kInvalid, Plugin::Start({.name = "a b"}, handler).error().code);
  EXPECT_EQ(Code::kInvalid, Plugin::Start({.index = "5"}, handler).error().code);
  EXPECT_EQ(Code::kInvalid, Plugin::Start({.events = {}}, handler).error().code);
}

}  // namespace
}  // namespace berth::nri
