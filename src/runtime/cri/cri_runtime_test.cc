// A CRI runtime against one that misbehaves. What a real one does is in tests/integration.
#include "runtime/cri/cri_runtime.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cri.pb.h"
#include "host/os/open_writers.h"
#include "model/pod.h"
#include "rpc/grpc/grpc_server.h"
#include "runtime/cri/cri_specs.h"
#include "testing/fixtures.h"

namespace berth::cri {
namespace {

namespace pb = ::runtime::v1;

using runtime::ContainerState;
using runtime::ContainerStatus;
using runtime::Notice;

struct Asked {
  std::string method;
  std::string message;
};
struct Said {
  std::vector<std::string> messages{};
  grpc::Status status{};
  bool never = false;
};

/// Containers and sandboxes in memory, and what a test wants to go wrong with the calls.
class FakeRuntime {
 public:
  explicit FakeRuntime(std::string path) : path_(std::move(path)) {}

  void Serve() {
    auto server = grpc::Server::Start({.other = [this](grpc::ServerStream& stream) { return Answer(stream); }});
    ASSERT_TRUE(server && (*server)->Listen(path_, 0600));
    server_ = *std::move(server);
  }
  void Vanish() { server_.reset(); }

  /// The next call of `method` is done, and goes unanswered.
  void LoseAnswerOf(const std::string& method) {
    const std::lock_guard lock(mutex_);
    lost_.insert(method);
  }
  /// No call of `method` is answered from now on; "": all are.
  void set_hung(const std::string& method) {
    const std::lock_guard lock(mutex_);
    hung_ = method;
  }
  /// The status of these is not answered from now on.
  void set_hung_statuses(std::set<std::string> ids) {
    const std::lock_guard lock(mutex_);
    hung_statuses_ = std::move(ids);
  }
  /// Sandboxes end when they are asked to, and what they leave is not removed.
  void set_refuses(bool refuses) {
    const std::lock_guard lock(mutex_);
    refuses_ = refuses;
  }
  /// Nor do they end.
  void set_stuck(bool stuck) {
    const std::lock_guard lock(mutex_);
    stuck_ = stuck;
  }
  /// Calls that an earlier berthd gave up are under way: the names of what they make are taken.
  void BeginLate() {
    const std::lock_guard lock(mutex_);
    late_ = true;
  }
  /// They come to their end.
  void FinishLateContainer() {
    const std::lock_guard lock(mutex_);
    pb::Container& container = containers_["late"];
    container.set_id("late");
    container.mutable_metadata()->set_name("app");
    (*container.mutable_labels())[kPodUid] = "pod";
    (*container.mutable_labels())[kContainerName] = "app";
  }
  void FinishLateSandbox() {
    const std::lock_guard lock(mutex_);
    pb::PodSandbox& sandbox = sandboxes_["late"];
    sandbox.set_id("late");
    sandbox.mutable_metadata()->set_uid("pod");
  }
  bool HasSandbox(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    return sandboxes_.contains(id);
  }
  void set_events(int count) {
    const std::lock_guard lock(mutex_);
    events_ = count;
  }
  /// Of every container.
  void set_log_path(const std::string& path) {
    const std::lock_guard lock(mutex_);
    log_path_ = path;
  }
  void set_driver(pb::CgroupDriver driver) {
    const std::lock_guard lock(mutex_);
    driver_ = driver;
  }
  /// Somebody else removes it.
  void DropSandboxes() {
    const std::lock_guard lock(mutex_);
    sandboxes_.clear();
  }
  void Drop(const std::string& id) {
    const std::lock_guard lock(mutex_);
    containers_.erase(id);
  }
  /// It ends by itself.
  void Exit(const std::string& id) {
    const std::lock_guard lock(mutex_);
    containers_[id].set_state(pb::CONTAINER_EXITED);
  }
  std::map<std::string, pb::ContainerState> containers() const {
    const std::lock_guard lock(mutex_);
    std::map<std::string, pb::ContainerState> out;
    for (const auto& [id, container] : containers_) out.emplace(id, container.state());
    return out;
  }
  std::size_t sandboxes() const {
    const std::lock_guard lock(mutex_);
    return sandboxes_.size();
  }
  int calls(const std::string& method) const {
    const std::lock_guard lock(mutex_);
    const auto it = calls_.find(method);
    return it == calls_.end() ? 0 : it->second;
  }

 private:
  template <class Message>
  static Message Read(const Asked& request) {
    Message out;
    EXPECT_TRUE(out.ParseFromString(request.message)) << request.method;
    return out;
  }
  static Said Say(const google::protobuf::MessageLite& message) { return {.messages = {message.SerializeAsString()}}; }

  Said Answer(const Asked& request) {
    const std::string method = request.method.substr(request.method.rfind('/') + 1);
    const std::lock_guard lock(mutex_);
    ++calls_[method];
    Said out = method.contains("Sandbox") ? OfSandboxes(method, request) : OfContainers(method, request);
    out.never = out.never || lost_.erase(method) > 0 || method == hung_;
    return out;
  }

  grpc::Status Answer(grpc::ServerStream& stream) {
    const auto request = stream.Read();
    if (!request || !*request) return {grpc::StatusCode::kInvalidArgument, "no request"};
    const Said said = Answer(Asked{.method = stream.method(), .message = **request});
    if (said.never) stream.WaitGone(std::nullopt);
    for (const std::string& message : said.messages)
      if (const auto sent = stream.Write(message); !sent) return sent.error();
    return said.status;
  }

  Said OfSandboxes(const std::string& method, const Asked& request) {
    if (method == "RunPodSandbox") {
      const auto asked = Read<pb::RunPodSandboxRequest>(request);
      if (late_ && asked.config().metadata().attempt() == 0)
        return {.status = {grpc::StatusCode::kUnknown, "failed to reserve sandbox name: it is reserved for late"}};
      const std::string id = "sandbox" + std::to_string(++made_);
      pb::PodSandbox& sandbox = sandboxes_[id];
      sandbox.set_id(id);
      *sandbox.mutable_metadata() = asked.config().metadata();
      if (refuses_) sandbox.set_state(pb::SANDBOX_NOTREADY);
      if (refuses_) return {.status = {grpc::StatusCode::kUnknown, "no network"}};
      pb::RunPodSandboxResponse answer;
      answer.set_pod_sandbox_id(id);
      return Say(answer);
    }
    if (method == "StopPodSandbox" && !stuck_)
      sandboxes_[Read<pb::StopPodSandboxRequest>(request).pod_sandbox_id()].set_state(pb::SANDBOX_NOTREADY);
    if (method != "ListPodSandbox" && (stuck_ || refuses_))
      return {.status = {grpc::StatusCode::kUnknown, "no network"}};
    if (method == "RemovePodSandbox") sandboxes_.erase(Read<pb::RemovePodSandboxRequest>(request).pod_sandbox_id());
    pb::ListPodSandboxResponse answer;
    if (method == "ListPodSandbox")
      for (const auto& [id, sandbox] : sandboxes_) *answer.add_items() = sandbox;
    return Say(answer);
  }

  Said OfContainers(const std::string& method, const Asked& request) {
    if (method == "Version") {
      pb::VersionResponse answer;
      answer.set_runtime_api_version("v1");
      return Say(answer);
    }
    if (method == "ListContainers") {
      pb::ListContainersResponse answer;
      for (const auto& [id, container] : containers_) *answer.add_containers() = container;
      return Say(answer);
    }
    if (method == "CreateContainer") return Create(Read<pb::CreateContainerRequest>(request));
    if (method == "StartContainer")
      containers_[Read<pb::StartContainerRequest>(request).container_id()].set_state(pb::CONTAINER_RUNNING);
    if (method == "StopContainer")
      containers_[Read<pb::StopContainerRequest>(request).container_id()].set_state(pb::CONTAINER_EXITED);
    if (method == "RemoveContainer") {
      const std::string id = Read<pb::RemoveContainerRequest>(request).container_id();
      containers_.erase(id);
      late_ = late_ && id != "late";
    }
    if (method == "ContainerStatus") return Status(Read<pb::ContainerStatusRequest>(request).container_id());
    if (method == "GetContainerEvents") return Events();
    if (method == "RuntimeConfig") return Config();
    if (method == "ImageStatus") {
      pb::ImageStatusResponse answer;
      answer.mutable_image()->set_id("image");
      return Say(answer);
    }
    return Say(pb::StopContainerResponse());  // empty
  }

  Said Create(const pb::CreateContainerRequest& asked) {
    if (late_) return {.status = {grpc::StatusCode::kUnknown, "failed to reserve container name: reserved for late"}};
    const std::string id = "container" + std::to_string(++made_);
    pb::Container& container = containers_[id];
    container.set_id(id);
    container.set_pod_sandbox_id(asked.pod_sandbox_id());
    *container.mutable_metadata() = asked.config().metadata();
    *container.mutable_labels() = asked.config().labels();
    pb::CreateContainerResponse answer;
    answer.set_container_id(id);
    return Say(answer);
  }

  Said Status(const std::string& id) {
    if (hung_statuses_.contains(id)) return {.never = true};
    const auto it = containers_.find(id);
    if (it == containers_.end()) return {.status = {grpc::StatusCode::kNotFound, "no such container"}};
    pb::ContainerStatusResponse answer;
    answer.mutable_status()->set_id(id);
    *answer.mutable_status()->mutable_metadata() = it->second.metadata();
    *answer.mutable_status()->mutable_labels() = it->second.labels();
    answer.mutable_status()->set_state(it->second.state());
    answer.mutable_status()->set_started_at(1);
    answer.mutable_status()->set_log_path(log_path_);
    return Say(answer);
  }

  Said Config() const {
    if (!driver_) return {.status = {grpc::StatusCode::kUnimplemented, ""}};
    pb::RuntimeConfigResponse answer;
    answer.mutable_linux()->set_cgroup_driver(*driver_);
    return Say(answer);
  }

  /// All at once, and never again.
  Said Events() {
    if (events_ == 0) return {.status = {grpc::StatusCode::kUnimplemented, ""}};
    Said out;
    for (; events_ > 0; --events_) out.messages.push_back(pb::ContainerEventResponse().SerializeAsString());
    return out;
  }

  const std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, pb::PodSandbox> sandboxes_;
  std::map<std::string, pb::Container> containers_;
  std::map<std::string, int> calls_;
  std::multiset<std::string> lost_;
  std::string hung_;
  std::set<std::string> hung_statuses_;
  int made_ = 0;
  int events_ = 0;
  std::optional<pb::CgroupDriver> driver_;
  std::string log_path_;
  bool refuses_ = false;
  bool stuck_ = false;
  bool late_ = false;
  std::unique_ptr<grpc::Server> server_;  // ends first
};

struct CriRuntimeTest : testing::Test {
  void Open(os::Millis look = os::Millis(20), os::Millis usual = os::Millis(20'000), os::Millis log_lag = os::Millis(0),
            std::optional<os::Millis> sandbox_look = std::nullopt) {
    fake.Serve();
    auto opened = OpenCriRuntime({.socket = temp / "cri",
                                  .owner = "test",
                                  .timeouts = {.usual = usual},
                                  .look = look,
                                  .sandbox_look = sandbox_look.value_or(look),
                                  .log_lag = log_lag,
                                  .dns = dns});
    ASSERT_TRUE(opened) << opened.error().message;
    cri = std::move(opened->runtime);
  }

  runtime::StartRequest Request(int attempt = 0) const {
    runtime::StartRequest out;
    out.pod_uid = "pod";
    out.pod_namespace = "default";
    out.pod_name = "web";
    out.container.name = "app";
    out.container.image = "image";
    out.attempt = attempt;
    out.place.log_folder = temp / "log";
    out.log_path = temp / "log/app/0.log";
    return out;
  }

  /// Takes what there is to tell until `done`.
  bool Until(const std::function<bool()>& done) {
    for (int i = 0; i < 1'000; ++i) {
      pollfd fd{.fd = cri->event_fd(), .events = POLLIN, .revents = 0};
      ::poll(&fd, 1, 20);
      for (ContainerStatus& status : cri->Poll()) news.push_back(std::move(status));
      for (Notice& notice : cri->TakeNotices()) notices.push_back(std::move(notice));
      if (done()) return true;
    }
    return false;
  }
  int Count(ContainerState state) const {
    return static_cast<int>(std::ranges::count(news, state, &ContainerStatus::state));
  }
  bool StartOne() {
    return cri->Start(Request()) && Until([&] { return Count(ContainerState::kRunning) >= 1; });
  }

  testkit::TempDir temp;
  NodeDns dns;
  FakeRuntime fake{temp / "cri"};
  std::unique_ptr<runtime::Runtime> cri;
  std::vector<ContainerStatus> news;
  std::vector<Notice> notices;
};

TEST_F(CriRuntimeTest, StartsStopsAndForgets) {
  Open();
  ASSERT_TRUE(StartOne());
  EXPECT_EQ(1U, cri->Sandboxes().size());
  ASSERT_TRUE(cri->Stop({.id = news.back().id}));
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kExited) == 1; }));
  EXPECT_TRUE(Until([&] { return *cri->StopPod("pod"); }));
  EXPECT_TRUE(cri->Sandboxes().empty());
  EXPECT_TRUE(cri->Forget(news.back().id));
  cri->ForgetPod("pod");
  EXPECT_TRUE(Until([&] { return fake.containers().empty() && fake.sandboxes() == 0; }));
  EXPECT_TRUE(notices.empty()) << notices.front().message;
}

TEST_F(CriRuntimeTest, NoPodIsStartedWithoutTheNodesDnsWhileThatCannotBeRead) {
  dns.resolv_conf = temp / "resolv.conf";
  std::filesystem::create_symlink(dns.resolv_conf, dns.resolv_conf);
  Open();
  runtime::StartRequest request = Request();
  Pod pod;
  pod.host_network = true;
  request.place.pod = std::make_shared<const Pod>(pod);
  ASSERT_TRUE(cri->Start(request));
  ASSERT_TRUE(Until([&] { return !news.empty(); }));
  EXPECT_EQ(news.back().state, ContainerState::kNotStarted);
  EXPECT_EQ(news.back().reason, "FailedCreatePodSandBox");
  EXPECT_EQ(news.back().message, "open " + dns.resolv_conf + ": Too many levels of symbolic links");
  EXPECT_EQ(fake.sandboxes(), 0U);
  std::filesystem::remove(dns.resolv_conf);
  ASSERT_TRUE(cri->Start(request));
  EXPECT_TRUE(Until([&] { return Count(ContainerState::kRunning) == 1; })) << "one that is not there says nothing";
}

/// A container that has ended, while the runtime has its log open.
struct CriOpenLogTest : CriRuntimeTest {
  void SetUp() override {
    if (!os::IsOpenForWriting(log)) GTEST_SKIP() << "the file system of " << log << " has no leases";
    fake.set_log_path(log);
  }
  /// Looked at after its end, more than once.
  void EndOne(os::Millis log_lag, os::Millis sandbox_look) {
    Open(os::Millis(20), os::Millis(20'000), log_lag, sandbox_look);
    ASSERT_TRUE(StartOne());
    ASSERT_TRUE(cri->Stop({.id = news.back().id}));
    ASSERT_TRUE(Until([&] { return fake.containers().begin()->second == pb::CONTAINER_EXITED; }));
    const int asked = fake.calls("ContainerStatus");
    ASSERT_TRUE(Until([&] { return fake.calls("ContainerStatus") > asked + 1; }));
  }

  static constexpr os::Millis kForever{1'000'000};
  const std::string log = temp / "0.log";
  std::optional<std::ofstream> writer{log};
};

TEST_F(CriOpenLogTest, AnEndIsToldWhenTheRuntimeHasWrittenTheLogToItsEnd) {
  EndOne(kForever, os::Millis(20));
  EXPECT_EQ(0, Count(ContainerState::kExited));
  writer.reset();
  EXPECT_TRUE(Until([&] { return Count(ContainerState::kExited) == 1; }));
}

TEST_F(CriOpenLogTest, SandboxesAreLookedAtBeforeAnEndIsToldHoweverLongItsLogWasOpen) {
  EndOne(kForever, kForever);
  fake.DropSandboxes();
  writer.reset();
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kExited) == 1; }));
  EXPECT_TRUE(Until([&] { return std::ranges::count(notices, "SandboxChanged", &Notice::reason) == 1; }));
}

TEST_F(CriRuntimeTest, AnEndIsToldInTheEndWhoeverHasTheLogOpen) {
  const std::string log = temp / "0.log";
  const std::ofstream writer(log);
  fake.set_log_path(log);
  Open(os::Millis(20), os::Millis(20'000), os::Millis(50));
  ASSERT_TRUE(StartOne());
  ASSERT_TRUE(cri->Stop({.id = news.back().id}));
  EXPECT_TRUE(Until([&] { return Count(ContainerState::kExited) == 1; }));
}

TEST_F(CriRuntimeTest, RefusesARuntimeWithAnotherCgroupDriverAndNamesTheCure) {
  fake.Serve();
  for (const pb::CgroupDriver driver : {pb::SYSTEMD, pb::CGROUPFS}) {
    fake.set_driver(driver);
    for (const std::string own : {"systemd", "cgroupfs"}) {
      const auto opened = OpenCriRuntime({.socket = temp / "cri", .cgroup_driver = own, .owner = "test"});
      const bool same = (driver == pb::SYSTEMD) == (own == "systemd");
      ASSERT_EQ(same, opened.has_value()) << own;
      if (same) continue;
      EXPECT_EQ(Code::kUnsupported, opened.error().code);
      const std::string cure = std::string("set SystemdCgroup = ") + (own == "systemd" ? "true" : "false");
      EXPECT_NE(std::string::npos, opened.error().message.find(cure)) << opened.error().message;
    }
  }
}

TEST_F(CriRuntimeTest, MakesNothingTwiceWhenAnAnswerIsLost) {
  for (const char* const method : {"RunPodSandbox", "CreateContainer", "StartContainer"}) {
    cri.reset();
    fake.Vanish();
    for (const auto& [id, state] : fake.containers()) fake.Drop(id);
    news.clear();
    Open(os::Millis(20), os::Millis(300));
    fake.LoseAnswerOf(method);
    int tries = 0;
    for (; Count(ContainerState::kRunning) == 0 && tries < 5; ++tries) {
      const std::size_t before = news.size();
      ASSERT_TRUE(cri->Start(Request()));
      ASSERT_TRUE(Until([&] { return news.size() > before; })) << method;
    }
    EXPECT_LE(tries, 2) << method;
    EXPECT_EQ(1U, fake.containers().size()) << method;
    EXPECT_EQ(1U, fake.sandboxes()) << method;
    cri->ForgetPod("pod");
    EXPECT_TRUE(Until([&] { return fake.sandboxes() == 0; }));
  }
}

TEST_F(CriRuntimeTest, AContainerMadeForAnEarlierBerthdAfterTheListIsRemovedAndTheStartGoesOn) {
  Open();
  fake.BeginLate();
  ASSERT_TRUE(cri->Start(Request()));
  ASSERT_TRUE(Until([&] { return fake.calls("CreateContainer") > 0; }));
  fake.FinishLateContainer();
  EXPECT_TRUE(Until([&] { return Count(ContainerState::kRunning) == 1; })) << "in the same start";
  EXPECT_EQ(Count(ContainerState::kNotStarted), 0);
  EXPECT_EQ(fake.containers().size(), 1U);
}

TEST_F(CriRuntimeTest, ACreateThatEndsAfterTheStartWasGivenUpIsRemovedAndTheStartAskedForAtOnce) {
  Open();
  fake.BeginLate();
  ASSERT_TRUE(cri->Start(Request()));
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kNotStarted) == 1; }));
  fake.FinishLateContainer();
  ASSERT_TRUE(Until([&] { return std::ranges::any_of(notices, &Notice::try_again); }));
  EXPECT_EQ(notices.back().pod_uid, "pod");
  EXPECT_TRUE(fake.containers().empty());
  EXPECT_TRUE(StartOne());
}

TEST_F(CriRuntimeTest, AContainerThatIsThereBeforeTheFirstCreateIsRemovedToo) {
  Open(std::chrono::hours(1));
  fake.BeginLate();
  fake.FinishLateContainer();
  EXPECT_TRUE(StartOne());
  EXPECT_EQ(fake.containers().size(), 1U);
}

TEST_F(CriRuntimeTest, ASandboxMadeForAnEarlierBerthdIsUsedOrRemoved) {
  for (const bool before : {true, false}) {  // the pod has one of its own
    cri.reset();
    fake.Vanish();
    news.clear();
    Open();
    fake.BeginLate();
    fake.FinishLateContainer();
    if (before) fake.FinishLateSandbox();
    ASSERT_TRUE(StartOne()) << "under another name, or in the late one";
    EXPECT_EQ(fake.HasSandbox("late"), before);
    if (!before) {
      fake.FinishLateSandbox();
      EXPECT_TRUE(Until([&] { return !fake.HasSandbox("late"); }));
    }
    EXPECT_EQ(fake.sandboxes(), 1U);
    ASSERT_TRUE(cri->Stop({.id = news.back().id}));
    ASSERT_TRUE(Until([&] { return Count(ContainerState::kExited) == 1; }));
    EXPECT_TRUE(cri->Forget(news.back().id));
    cri->ForgetPod("pod");
    EXPECT_TRUE(Until([&] { return fake.containers().empty() && fake.sandboxes() == 0; }));
  }
}

TEST_F(CriRuntimeTest, ASandboxMadeForAPodThatIsGoneIsRemoved) {
  Open();
  fake.FinishLateSandbox();
  EXPECT_TRUE(Until([&] {
    cri->Retain({});
    return fake.sandboxes() == 0;
  }));
}

TEST_F(CriRuntimeTest, AStartThatFoundNobodyIsToBeTriedAgainWhenTheRuntimeAnswers) {
  Open();
  fake.Vanish();
  ASSERT_TRUE(cri->Start(Request()));
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kNotStarted) == 1; }));
  const auto told = [&] {
    return std::ranges::any_of(notices, [](const Notice& n) { return n.pod_uid == "pod" && n.try_again; });
  };
  notices.clear();  // an answer of before may have come after it
  EXPECT_FALSE(told());
  fake.Serve();
  EXPECT_TRUE(Until(told));
}

TEST_F(CriRuntimeTest, ASandboxThatSomebodyElseRemovedIsMadeAnewAndItsContainersEnd) {
  Open();
  ASSERT_TRUE(StartOne());
  fake.DropSandboxes();
  ASSERT_TRUE(Until([&] {
    return std::ranges::any_of(notices, [](const Notice& n) { return n.reason == "SandboxChanged" && n.try_again; });
  }));
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kExited) == 1; }));
  ASSERT_TRUE(cri->Start(Request(1)));
  EXPECT_TRUE(Until([&] { return Count(ContainerState::kRunning) == 2; }));
  EXPECT_EQ(1U, fake.sandboxes());
}

TEST_F(CriRuntimeTest, SaysOnceThatARuntimeWentAndOnceThatItIsBack) {
  Open();
  ASSERT_TRUE(StartOne());
  fake.Vanish();
  ASSERT_TRUE(Until([&] { return !notices.empty(); }));
  EXPECT_EQ("RuntimeNotReady", notices[0].reason);
  EXPECT_NE(std::string::npos, notices[0].message.find("nothing is started or taken to have ended"));
  EXPECT_EQ(notices[0].message, cri->Problem());
  ASSERT_TRUE(cri->Stop({.id = news.back().id}));
  EXPECT_FALSE(*cri->StopPod("pod"));
  EXPECT_EQ(ContainerState::kRunning, cri->List()->front().state);
  fake.Serve();
  ASSERT_TRUE(Until([&] { return notices.size() >= 2; }));
  ASSERT_EQ(2U, notices.size()) << notices[1].message;
  EXPECT_EQ("RuntimeReady", notices[1].reason);
  EXPECT_EQ("", cri->Problem());
  EXPECT_EQ(0, Count(ContainerState::kUnknown));
}

TEST_F(CriRuntimeTest, ARuntimeThatListsContainersAndAnswersNothingElseIsNotReady) {
  for (const auto& [method, doing] : std::map<std::string, std::string>{
           {"ListPodSandbox", "list sandboxes: "}, {"ContainerStatus", "ask for the container's status: "}}) {
    SCOPED_TRACE(method);
    cri.reset();
    fake.Vanish();
    for (const auto& [id, state] : fake.containers()) fake.Drop(id);
    news.clear();
    notices.clear();
    Open(os::Millis(20), os::Millis(300));
    ASSERT_TRUE(StartOne());
    fake.set_hung(method);
    fake.Exit(news.back().id);
    ASSERT_TRUE(Until([&] { return !notices.empty(); }));
    EXPECT_EQ(notices[0].reason, "RuntimeNotReady");
    EXPECT_TRUE(notices[0].message.starts_with(doing)) << notices[0].message;
    EXPECT_EQ(cri->Problem(), notices[0].message);
    const int asked = fake.calls(method);
    ASSERT_TRUE(Until([&] { return fake.calls(method) > asked + 1; })) << "it is asked again";
    EXPECT_EQ(notices.size(), 1U) << notices.back().message;
    EXPECT_EQ(Count(ContainerState::kExited), 0);
    fake.set_hung("");
    ASSERT_TRUE(Until([&] { return Count(ContainerState::kExited) == 1; }));
    ASSERT_EQ(notices.size(), 2U) << notices.back().message;
    EXPECT_EQ(notices[1].reason, "RuntimeReady");
    EXPECT_EQ(cri->Problem(), "");
  }
}

TEST_F(CriRuntimeTest, AContainerThatCouldNotBeAskedForWhenItWasStartedIsAskedForUntilItIsKnown) {
  Open(os::Millis(20), os::Millis(300));
  fake.LoseAnswerOf("ContainerStatus");
  ASSERT_TRUE(StartOne());
  EXPECT_EQ("", news.front().started_at);
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kRunning) == 2; }));
  EXPECT_EQ(news.front().id, news.back().id);
  EXPECT_NE("", news.back().started_at);
  const int asked = fake.calls("ContainerStatus");
  const int looks = fake.calls("ListContainers");
  ASSERT_TRUE(Until([&] { return fake.calls("ListContainers") > looks + 2; }));
  EXPECT_EQ(asked, fake.calls("ContainerStatus"));
}

TEST_F(CriRuntimeTest, ContainersWhoseStatusIsNotAnsweredHoldUpNoOtherEnd) {
  Open(os::Millis(20), os::Millis(300));
  std::vector<std::string> ids;
  for (const char* const pod : {"hung", "hung-too", "ends", "vanishes"}) {
    runtime::StartRequest request = Request();
    request.pod_uid = pod;
    request.pod_name = pod;
    ASSERT_TRUE(cri->Start(request));
    ASSERT_TRUE(Until([&] { return Count(ContainerState::kRunning) > static_cast<int>(ids.size()); }));
    ids.push_back(news.back().id);
  }
  fake.set_hung_statuses({ids[0], ids[1]});  // which are asked first
  for (int i = 0; i < 3; ++i) fake.Exit(ids[i]);
  fake.Drop(ids[3]);
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kExited) == 1 && Count(ContainerState::kUnknown) == 1; }));
  EXPECT_EQ(std::ranges::find(news, ContainerState::kExited, &ContainerStatus::state)->id, ids[2]);
  // A busy host may have let another call wait for too long as well.
  ASSERT_TRUE(Until([&] {
    return std::ranges::any_of(notices, [](const Notice& notice) {
      return notice.reason == "RuntimeNotReady" &&
             notice.message.ends_with("one that has ended counts as running until its status is known");
    });
  }));
  fake.set_hung_statuses({});
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kExited) == 3; }));
  ASSERT_TRUE(Until([&] { return notices.back().reason == "RuntimeReady" && cri->Problem().empty(); }));
}

TEST_F(CriRuntimeTest, APodEndsThoughTheRuntimeKeepsItsSandboxUntilItIsMended) {
  Open();
  ASSERT_TRUE(StartOne());
  fake.set_refuses(true);
  ASSERT_TRUE(cri->Stop({.id = news.back().id}));
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kExited) == 1; }));
  ASSERT_TRUE(Until([&] { return *cri->StopPod("pod"); }));
  EXPECT_TRUE(cri->Forget(news.back().id));
  cri->ForgetPod("pod");
  const int stops = fake.calls("StopPodSandbox");
  ASSERT_TRUE(Until([&] { return fake.calls("StopPodSandbox") > stops && !notices.empty(); }));
  EXPECT_EQ(1U, fake.sandboxes());
  ASSERT_EQ(1U, notices.size());
  EXPECT_EQ("FailedRemovePodSandBox", notices[0].reason);
  EXPECT_NE(std::string::npos, notices[0].message.find("pod default/web: stop the pod's sandbox: no network;"))
      << notices[0].message;
  fake.set_refuses(false);
  ASSERT_TRUE(Until([&] { return notices.size() == 2; }));
  EXPECT_TRUE(notices[1].normal) << notices[1].message;
  EXPECT_EQ(0U, fake.sandboxes());
}

TEST_F(CriRuntimeTest, ASandboxThatStillRunsHoldsItsPodUp) {
  Open();
  ASSERT_TRUE(StartOne());
  fake.set_stuck(true);
  ASSERT_TRUE(cri->Stop({.id = news.back().id}));
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kExited) == 1; }));
  for (int stops = fake.calls("StopPodSandbox"); stops < 2; stops = fake.calls("StopPodSandbox"))
    ASSERT_TRUE(Until([&] {
      EXPECT_FALSE(*cri->StopPod("pod"));
      return fake.calls("StopPodSandbox") > stops;
    }));
  fake.set_stuck(false);
  EXPECT_TRUE(Until([&] { return *cri->StopPod("pod"); }));
}

TEST_F(CriRuntimeTest, StartsAPodAnewBesideASandboxThatIsNotRemovedAFewTimes) {
  constexpr std::size_t kMost = 3;
  Open();
  fake.set_refuses(true);  // nor can any be made, and each try leaves something
  for (int attempt = 0; notices.empty() || !news.back().message.contains("no more are made"); ++attempt) {
    ASSERT_LT(attempt, 10);
    const std::size_t before = news.size();
    ASSERT_TRUE(cri->Start(Request(attempt)));
    ASSERT_TRUE(Until([&] { return news.size() > before; }));
  }
  EXPECT_EQ(kMost, fake.sandboxes());
  fake.set_refuses(false);
  ASSERT_TRUE(Until([&] { return fake.sandboxes() == 0; }));
  EXPECT_TRUE(StartOne());
}

TEST_F(CriRuntimeTest, ReleasesAContainerThatVanishedOnce) {
  Open();
  ASSERT_TRUE(StartOne());
  fake.Drop(news.back().id);
  ASSERT_TRUE(Until([&] { return Count(ContainerState::kUnknown) == 1; }));
  const int lists = fake.calls("ListContainers");
  ASSERT_TRUE(Until([&] { return fake.calls("ListContainers") > lists + 3; }));
  EXPECT_EQ(1, Count(ContainerState::kUnknown));
}

TEST_F(CriRuntimeTest, MakesNoCrowdOfCallsOfAnOldCrowdOfEvents) {
  fake.set_events(10'000);
  Open(os::Millis(60'000));
  ASSERT_TRUE(StartOne());
  EXPECT_LT(fake.calls("ListContainers"), 200);
}

TEST_F(CriRuntimeTest, KeepsOfAnEarlierBerthdWhatRuns) {
  Open();
  ASSERT_TRUE(StartOne());
  const std::string id = news.back().id;
  cri.reset();
  fake.Vanish();
  Open();
  ASSERT_EQ(1U, cri->List()->size());
  EXPECT_EQ(id, cri->List()->front().id);
  EXPECT_EQ(ContainerState::kRunning, cri->List()->front().state);
}

}  // namespace
}  // namespace berth::cri
