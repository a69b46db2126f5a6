// The pod resources API on a socket, asked by the component's own client.
#include "kubernetes/pod_resources/pod_resources_service.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "kubernetes/pod_resources/made_node_test.h"
#include "podresources.pb.h"
#include "rpc/grpc/grpc_client.h"
#include "testing/fixtures.h"

namespace berth::pod_resources {
namespace {

using testkit::Cpus;

grpc::Patience Soon() { return {.deadline = os::SystemClock().Now() + os::Millis(20'000)}; }

/// What servers read while the test changes it.
class Shown {
 public:
  explicit Shown(NodeSnapshot first) { Set(std::move(first)); }
  std::shared_ptr<const NodeSnapshot> Get() const {
    const MutexLock lock(mutex_);
    return snapshot_;
  }
  void Set(NodeSnapshot snapshot) {
    const MutexLock lock(mutex_);
    snapshot_ = std::make_shared<const NodeSnapshot>(std::move(snapshot));
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const NodeSnapshot> snapshot_ BERTH_GUARDED_BY(mutex_);
};

struct PodResourcesServiceTest : testing::Test {
  static MadeNode Made() {
    MadeNode out;
    out.Add("web", {{.cpus = Cpus("2-3")}});
    out.Add("done", {{}}, {.phase = PodPhase::kSucceeded, .holds = false});
    return out;
  }
  void Start(bool only_active = true) {
    auto started = Service::Start({.socket = path,
                                   .only_active = only_active,
                                   .on_lost_socket =
                                       [this](const std::string&, const Result<void>& again) {
                                         EXPECT_TRUE(again) << again.error().message;
                                         ++made_anew;
                                         made_anew.notify_all();
                                       }},
                                  [this] { return snapshot.Get(); });
    ASSERT_TRUE(started) << started.error().message;
    service = *std::move(started);
  }
  v1::ListPodResourcesResponse List(const std::string& method = "/v1.PodResourcesLister/List") {
    v1::ListPodResourcesResponse out;
    const auto said = client.Call(method, "", Soon());
    EXPECT_TRUE(said && out.ParseFromString(*said));
    return out;
  }
  Result<std::string> Get(const std::string& name, const std::string& namespace_ = "default") {
    v1::GetPodResourcesRequest request;
    request.set_pod_name(name);
    request.set_pod_namespace(namespace_);
    return client.Call("/v1.PodResourcesLister/Get", request.SerializeAsString(), Soon());
  }

  testkit::TempDir temp;
  std::string path = temp / "folder/kubelet.sock";
  Shown snapshot{Made().Snapshot()};
  std::atomic<int> made_anew = 0;  // times that its socket was lost
  std::unique_ptr<Service> service;
  grpc::Client client{grpc::UnixConnector(path), path};
};

TEST_F(PodResourcesServiceTest, AnswersItsMethodsFromTheNewestSnapshot) {
  Start();
  ASSERT_EQ(1, List().pod_resources_size());
  EXPECT_EQ(2, List("/v1alpha1.PodResourcesLister/List").pod_resources_size());
  const auto said = Get("web");
  ASSERT_TRUE(said) << said.error().message;
  v1::GetPodResourcesResponse got;
  ASSERT_TRUE(got.ParseFromString(*said));
  EXPECT_EQ(List().pod_resources(0).SerializeAsString(), got.pod_resources().SerializeAsString());
  EXPECT_TRUE(client.Call("/v1.PodResourcesLister/GetAllocatableResources", "", Soon()));
  snapshot.Set(MadeNode().Snapshot());
  EXPECT_EQ(0, List().pod_resources_size());
  EXPECT_EQ(Code::kUnsupported, client.Call("/v1.PodResourcesLister/Watch", "", Soon()).error().code);
}

TEST_F(PodResourcesServiceTest, ListsAllPodsWhereTheGateIsOff) {
  Start(/*only_active=*/false);
  EXPECT_EQ(2, List().pod_resources_size());
}

TEST_F(PodResourcesServiceTest, SaysOfAnUnknownPodWhatAKubeletSays) {
  Start();
  for (const auto& [name, namespace_] : {std::pair("none", "default"), {"web", "other"}, {"done", "default"}}) {
    const auto said = Get(name, namespace_);
    ASSERT_FALSE(said);
    EXPECT_EQ(grpc::CodeOf(grpc::StatusCode::kUnknown), said.error().code);
    EXPECT_EQ(std::string("pod ") + name + " in namespace " + namespace_ + " not found", said.error().message);
  }
}

TEST_F(PodResourcesServiceTest, CountsWhatItWasAskedAndCouldNotAnswer) {
  Start();
  EXPECT_EQ(PodResourcesFigures(), service->figures());
  List();
  List();
  List("/v1alpha1.PodResourcesLister/List");
  EXPECT_TRUE(client.Call("/v1.PodResourcesLister/GetAllocatableResources", "", Soon()));
  EXPECT_TRUE(Get("web"));
  EXPECT_FALSE(Get("none"));
  EXPECT_FALSE(client.Call("/v1.PodResourcesLister/Get", "\x0A\xFF", Soon()))
      << "it cannot be read, and is not counted";
  PodResourcesFigures wanted{.list = {.tried = 2}, .get_allocatable = {.tried = 1}, .get = {.tried = 2, .failed = 1}};
  wanted.list_alpha = 1;
  EXPECT_EQ(wanted, service->figures());
}

TEST_F(PodResourcesServiceTest, RefusesWhatIsNoRequestOrTooLong) {
  Start();
  const auto broken = client.Call("/v1.PodResourcesLister/Get", "\x0A\xFF", Soon());
  ASSERT_FALSE(broken);
  EXPECT_EQ(grpc::CodeOf(grpc::StatusCode::kInternal), broken.error().code);
  EXPECT_EQ(Code::kExhausted, Get(std::string(std::size_t{70} << 10, 'x')).error().code);
  EXPECT_EQ(1, List().pod_resources_size());
}

TEST_F(PodResourcesServiceTest, SocketAndFolderAreForRootOnly) {
  Start();
  struct stat info{};
  ASSERT_EQ(0, ::stat(path.c_str(), &info));
  EXPECT_EQ(0600U, info.st_mode & 0777U);
  ASSERT_EQ(0, ::stat((temp / "folder").c_str(), &info));
  EXPECT_EQ(0750U, info.st_mode & 0777U);
  service.reset();
  EXPECT_NE(0, ::stat(path.c_str(), &info)) << "its name goes with it";
}

TEST_F(PodResourcesServiceTest, ASocketThatWasMovedAwayWithItsFolderIsMadeAnew) {
  Start();
  std::filesystem::rename(temp / "folder", temp / "elsewhere");
  made_anew.wait(0);
  EXPECT_EQ(1, List().pod_resources_size());
  struct stat info{};
  ASSERT_EQ(0, ::stat((temp / "folder").c_str(), &info));
  EXPECT_EQ(0750U, info.st_mode & 0777U);
}

TEST_F(PodResourcesServiceTest, LeavesTheSocketToWhoListensThere) {
  Start();
  const auto second = Service::Start({.socket = path}, [this] { return snapshot.Get(); });
  ASSERT_FALSE(second);
  EXPECT_EQ(Code::kInUse, second.error().code);
  EXPECT_EQ(1, List().pod_resources_size());
}

TEST(PodResourcesCallsTest, TenAtOnceAndAHundredASecondWhateverIsAsked) {
  testkit::ManualClock clock;
  Calls calls([] { return std::make_shared<const NodeSnapshot>(MadeNode().Snapshot()); }, true, clock);
  const auto admitted = [&](int asked) {
    int out = 0;
    for (int i = 0; i < asked; ++i) {
      const grpc::Reply reply = i % 2 == 0 ? calls.List("") : calls.Allocatable("");
      if (reply) {
        ++out;
      } else {
        EXPECT_EQ(grpc::Status(grpc::StatusCode::kResourceExhausted, "rejected by rate limit"), reply.error());
      }
    }
    return out;
  };
  EXPECT_EQ(10, admitted(30));
  clock.Advance(os::Millis(50));
  EXPECT_EQ(5, admitted(30));
  clock.Advance(os::Millis(10'000));
  EXPECT_EQ(10, admitted(30)) << "rest is not kept for longer";
  EXPECT_EQ(grpc::StatusCode::kResourceExhausted, calls.ListAlpha("").error().code);
  EXPECT_EQ(grpc::StatusCode::kResourceExhausted, calls.Get("").error().code);
}

TEST_F(PodResourcesServiceTest, ManyAskWhileTheNodeChanges) {
  Start();
  std::atomic<int> answered = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      grpc::Client own(grpc::UnixConnector(path), path);
      for (int i = 0; i < 25; ++i) {
        const auto said = own.Call("/v1.PodResourcesLister/List", "", Soon());
        if (said)
          ++answered;
        else if (said.error().code == Code::kExhausted)
          ++refused;
      }
    });
  for (std::uint64_t seed = 0; seed < 50; ++seed) snapshot.Set(RandomNode(seed).Snapshot());
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(100, answered + refused);
  EXPECT_GE(answered, 10);
}

}  // namespace
}  // namespace berth::pod_resources
