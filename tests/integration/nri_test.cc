// A plug-in beside a real containerd with NRI, 1.7 or later: the one that BERTH_CONTAINERD names.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>

#include "containerd_fixture.h"
#include "rpc/nri/plugin.h"
#include "runtime/cri/cri_client.h"

namespace berth::nri {
namespace {

using testkit::ContainerdFixture;

/// Remembers what it was told, and answers by rules of the test.
class RuledHandler final : public Handler {
 public:
  using Updates = std::vector<Update>;
  using UpdatesAnswer = Answer<Updates>;
  void Joined(const Runtime&) override { Note("joined"); }
  void Synchronize(Inventory inventory, UpdatesAnswer answer) override {
    std::string running;
    for (const Container& container : inventory.containers)
      if (container.state == ContainerState::kRunning) running += " " + container.name + ":" + container.resources.cpus;
    Note("synchronize " + std::to_string(inventory.pods.size()) + running);
    answer.Give(Updates{});
  }
  void Left(const std::string&) override { Note("left"); }
  void CreateContainer(Pod pod, Container container, Answer<Creation> answer) override {
    Note("create " + pod.uid + "/" + container.name + ":" + container.resources.cpus + " in " + pod.cgroup_parent);
    create(container, answer);
  }
  void UpdateContainer(Pod, Container container, Resources wanted, UpdatesAnswer answer) override {
    Note("update " + container.name + ":" + wanted.cpus);
    answer.Give(Updates{{.container_id = container.id, .resources = {.cpus = "1"}}});
  }
  void StartContainer(Pod, Container container, Answer<Ready> answer) override {
    Note("start " + container.name);
    start(container, answer);
  }
  void StopContainer(Pod, Container container, UpdatesAnswer answer) override {
    Note("stop " + container.name);
    answer.Give(at_stop);
  }
  void UpdatePod(Pod, Resources, Resources) override {}
  void Happened(Event event, Pod pod, std::optional<Container> container) override {
    Note("event " + std::to_string(static_cast<int>(event)) + " " + pod.uid + (container ? "/" + container->name : ""));
  }
  bool Has(const std::string& what) {
    const MutexLock lock(mutex_);
    return std::ranges::find(notes_, what) != notes_.end();
  }
  std::string All() {
    const MutexLock lock(mutex_);
    std::string out;
    for (const std::string& note : notes_) out += note + "\n";
    return out;
  }

  std::function<void(const Container&, const Answer<Creation>&)> create = [](const auto&, const auto& answer) {
    answer.Give(Creation{});
  };
  std::function<void(const Container&, const Answer<Ready>&)> start = [](const auto&, const auto& answer) {
    answer.Give(Ready{});
  };
  Updates at_stop;

 private:
  void Note(const std::string& what) {
    const MutexLock lock(mutex_);
    notes_.push_back(what);
  }
  Mutex mutex_;
  std::vector<std::string> notes_ BERTH_GUARDED_BY(mutex_);
};

struct NriContainerdTest : testing::Test {
  void SetUp() override {
    if (const auto why = ContainerdFixture::WhyNot()) GTEST_SKIP() << *why;
    containerd.emplace();
    if (before_start) before_start();
    containerd->Start(ContainerdFixture::With::kCriAndNri);
    client.emplace(containerd->socket());
    const auto version = client->Handshake();
    ASSERT_TRUE(version) << version.error().message;
    if (version->version.starts_with("1.6.")) GTEST_SKIP() << "containerd 1.6 has no NRI; tools/get_containerd";
    std::filesystem::create_directories(containerd->Dir("logs/app"));
  }
  void TearDown() override { plugin.reset(); }

  void Join(PluginOptions options = {}) {
    options.socket = containerd->nri_socket();
    auto started = Plugin::Start(options, handler);
    ASSERT_TRUE(started) << started.error().message;
    plugin = *std::move(started);
    ASSERT_TRUE(containerd->Until("the plug-in has joined", [&] { return plugin->status().joined; }))
        << plugin->status().last_error;
  }
  cri::SandboxSpec Sandbox() const {
    return {.name = "web",
            .namespace_ = "default",
            .uid = "u",
            .hostname = "web",
            .log_directory = containerd->Dir("logs"),
            .cgroup_parent = containerd->GroupOfPod("u"),
            .namespaces = {.host_network = true}};
  }
  std::string RunPod() {
    const auto out = client->RunSandbox(Sandbox());
    EXPECT_TRUE(out) << out.error().message;
    return out.value_or("");
  }
  Result<std::string> Create(const std::string& pod, const std::string& name, const std::string& cpus = "0-1") {
    return client->Create(pod,
                          {.name = name,
                           .image = testkit::kTestImage,
                           .user_image = testkit::kTestImage,
                           .command = {"/bin/sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait"},
                           .log_path = "app/" + name + ".log",
                           .resources = {.cpu_shares = 512, .cpus = cpus, .mems = "0"}},
                          Sandbox());
  }
  std::string Run(const std::string& pod, const std::string& name, const std::string& cpus = "0-1") {
    const auto out = Create(pod, name, cpus);
    EXPECT_TRUE(out) << out.error().message;
    if (!out) return "";
    const auto started = client->Start(*out);
    EXPECT_TRUE(started) << started.error().message;
    return *out;
  }
  std::string CpusOf(const std::string& id) const { return containerd->Value("cpuset", id, "cpuset.cpus"); }
  bool Told(const std::string& what) {
    return containerd->Until("the plug-in is told: " + what, [&] { return handler.Has(what); });
  }

  std::function<void()> before_start;
  std::optional<ContainerdFixture> containerd;
  std::optional<cri::Client> client;
  RuledHandler handler;
  std::unique_ptr<Plugin> plugin;
};

TEST_F(NriContainerdTest, NarrowsContainersBeforeTheyRunAndWheneverItIsAsked) {
  Join();
  EXPECT_EQ("containerd", plugin->status().runtime->name);
  EXPECT_TRUE(handler.Has("synchronize 0")) << handler.All();
  const std::string pod = RunPod();
  EXPECT_TRUE(Told("event 1 u"));
  const std::string shared = Run(pod, "shared");
  EXPECT_EQ("0-1", CpusOf(shared));
  EXPECT_TRUE(handler.Has("create u/shared:0-1 in " + containerd->GroupOfPod("u"))) << handler.All();

  // The one that must move has moved before the new one is there, and the new one is where it shall be from the start.
  handler.create = [&](const Container&, const Answer<Creation>& answer) {
    answer.Give(Creation{.adjustment = {.resources = {.cpus = "1"}},
                         .updates = {{.container_id = shared, .resources = {.cpus = "0"}}}});
  };
  const auto own = Create(pod, "own");
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ("0", CpusOf(shared));
  ASSERT_TRUE(client->Start(*own));
  EXPECT_EQ("1", CpusOf(*own));
  EXPECT_TRUE(Told("event 7 u/own"));

  // What a kubelet wants is overruled.
  ASSERT_TRUE(client->Update(*own, {.cpus = "0"}));
  EXPECT_TRUE(handler.Has("update own:0")) << handler.All();
  EXPECT_EQ("1", CpusOf(*own));

  handler.at_stop = {{.container_id = shared, .resources = {.cpus = "0-1"}}};
  ASSERT_TRUE(client->Stop(*own, std::chrono::seconds(20)));
  EXPECT_TRUE(Told("stop own"));
  EXPECT_TRUE(containerd->Until("the CPUs are back", [&] { return CpusOf(shared) == "0-1"; }));
  handler.at_stop.clear();
  ASSERT_TRUE(client->StopSandbox(pod));
  ASSERT_TRUE(client->RemoveSandbox(pod));
  EXPECT_TRUE(Told("event 11 u/own"));
  EXPECT_TRUE(Told("event 3 u"));
}

TEST_F(NriContainerdTest, IsBackAfterTheRuntimeWasKilledAndSeesWhatRuns) {
  Join();
  const std::string id = Run(RunPod(), "main", "0");
  containerd->Kill();
  ASSERT_TRUE(containerd->Until("it is known", [&] { return !plugin->status().joined; }));
  containerd->Start(ContainerdFixture::With::kCriAndNri);
  const os::MonoTime answers = os::SystemClock().Now();
  ASSERT_TRUE(containerd->Until("it has joined again", [&] { return plugin->status().joined; }));
  std::cout << "joined again " << std::chrono::duration_cast<os::Millis>(os::SystemClock().Now() - answers).count()
            << " ms after containerd answered\n";
  EXPECT_EQ(2U, plugin->status().joins);
  EXPECT_TRUE(handler.Has("synchronize 1 main:0")) << handler.All();
}

TEST_F(NriContainerdTest, ARefusedContainerIsNotMadeAndItsReasonReachesWhoAsked) {
  handler.create = [](const Container&, const Answer<Creation>& answer) {
    answer.Give(Fail(Code::kExhausted, "no two whole cores are free on one node"));
  };
  Join();
  const auto refused = Create(RunPod(), "main");
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string::npos, refused.error().message.find("no two whole cores are free on one node"))
      << refused.error().message;
  EXPECT_TRUE(client->Containers({})->empty());
  EXPECT_TRUE(plugin->status().joined);
}

TEST_F(NriContainerdTest, WhoeverIsLateIsNotCutOffAndKnowsThatHeWasLate) {
  std::promise<Answer<Creation>> kept;
  handler.create = [&](const Container&, const Answer<Creation>& answer) { kept.set_value(answer); };
  Join({.longest_answer = os::Millis(300)});
  const std::string id = Run(RunPod(), "main", "0");
  EXPECT_EQ("0", CpusOf(id));
  EXPECT_FALSE(kept.get_future().get().Give(Creation{.adjustment = {.resources = {.cpus = "1"}}}));
  EXPECT_EQ(1U, plugin->status().late_answers);
  EXPECT_EQ(1U, plugin->status().joins);
}

TEST_F(NriContainerdTest, AnswersLongerThanTheRuntimesBufferArrive) {
  handler.create = [](const Container&, const Answer<Creation>& answer) {
    Creation out{.adjustment = {.resources = {.cpus = "1"}}};
    for (int i = 0; i < 75; ++i) out.adjustment.annotations["key" + std::to_string(i)] = std::string(4000, 'x');
    answer.Give(out);
  };
  Join();
  const std::string id = Run(RunPod(), "main");
  EXPECT_EQ("1", CpusOf(id));
  EXPECT_EQ(1U, plugin->status().joins);
}

/// The plug-in as a process of its own.
class ProbeProcess {
 public:
  ProbeProcess(const std::string& socket, const std::string& cpus) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execl(BERTH_NRI_PROBE, BERTH_NRI_PROBE, socket.c_str(), cpus.c_str(), nullptr);
    ::_exit(127);
  }
  ~ProbeProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ProbeProcess(const ProbeProcess&) = delete;
  ProbeProcess& operator=(const ProbeProcess&) = delete;
  void Freeze(bool on) const { ::kill(pid_, on ? SIGSTOP : SIGCONT); }

 private:
  int pid_;
};

TEST_F(NriContainerdTest, OneThatWasStoppedForLongerThanTheRuntimeWaitsJoinsAgain) {
  const ProbeProcess probe(containerd->nri_socket(), "1");
  const std::string pod = RunPod();
  int count = 0;
  const auto cpus_of_a_new_one = [&] { return CpusOf(Run(pod, "c" + std::to_string(count++), "0")); };
  ASSERT_TRUE(containerd->Until("it has joined", [&] { return cpus_of_a_new_one() == "1"; }));
  probe.Freeze(true);
  EXPECT_EQ("0", cpus_of_a_new_one());  // the runtime has waited, and has gone on without it
  probe.Freeze(false);
  const os::MonoTime goes_on = os::SystemClock().Now();
  ASSERT_TRUE(containerd->Until("it has joined again", [&] { return cpus_of_a_new_one() == "1"; }));
  std::cout << "made with its CPUs again "
            << std::chrono::duration_cast<os::Millis>(os::SystemClock().Now() - goes_on).count()
            << " ms after it went on, the time to make containers included\n";
}

struct NriLaunchedTest : NriContainerdTest {
  NriLaunchedTest() {
    before_start = [this] {
      std::filesystem::create_directories(containerd->Dir("nri/plugins"));
      std::filesystem::create_directories(containerd->Dir("nri/conf.d"));
      std::filesystem::create_symlink(BERTH_NRI_PROBE, containerd->Dir("nri/plugins/10-narrow"));
      std::ofstream(containerd->Dir("nri/conf.d/10-narrow.conf")) << "1";
    };
  }
};

TEST_F(NriLaunchedTest, OneThatTheRuntimeStartsHasItsConfigurationAndIsAsked) {
  EXPECT_EQ("1", CpusOf(Run(RunPod(), "main", "0")));
}

}  // namespace
}  // namespace berth::nri
