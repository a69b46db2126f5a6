// berthd killed, or refused by the disk or the kernel, at every call that changes a file: of the ledger and of cgroups.
// Store and cgroup tree are the real ones, on a disk and a kernel in memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cgroup/tree.h"
#include "daemon/adopt.h"
#include "daemon/fake_node_test.h"
#include "engine/testing/builders.h"
#include "model/promises.h"
#include "state/takeover.h"
#include "state/verify.h"
#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"

namespace berth::daemon {
namespace {

using testkit::FakeCgroups;
using testkit::MemoryFs;

constexpr const char* kRoot = "berth";

/// Kills berthd in place of the n-th system call that changes a file. Replace and Link are several.
class KillingFs final : public testkit::FsWrapper {
 public:
  KillingFs(os::Fs& disk, int at) : FsWrapper(disk), at_(at) {}
  int calls() const { return calls_; }

  Result<void> Write(std::string_view path, std::string_view s) override {
    Call();
    return FsWrapper::Write(path, s);
  }
  Result<void> MakeDir(std::string_view path) override {
    Call();
    return FsWrapper::MakeDir(path);
  }
  Result<void> RemoveDir(std::string_view path) override {
    Call();
    return FsWrapper::RemoveDir(path);
  }
  Result<void> RemoveFile(std::string_view path) override {
    Call();
    return FsWrapper::RemoveFile(path);
  }
  Result<void> Replace(std::string_view path, std::string_view s) override {
    const std::string temp = "." + std::string(path) + ".tmp";
    for (const std::size_t written : {std::size_t{0}, s.size() / 2, s.size()}) {  // create, write, sync
      Call();
      BERTH_RETURN_IF_ERROR(FsWrapper::Replace(temp, s.substr(0, written)));
    }
    Call();
    BERTH_RETURN_IF_ERROR(FsWrapper::Replace(path, s));  // rename
    BERTH_RETURN_IF_ERROR(FsWrapper::RemoveFile(temp));
    Call();  // sync of the folder
    return {};
  }
  Result<void> Link(std::string_view from, std::string_view to) override {
    Call();
    Call();
    return FsWrapper::Link(from, to);
  }

 private:
  void Call() {
    if (calls_++ == at_) throw Died{};
  }

  int at_;
  int calls_ = 0;
};

/// The real tree without its directories, which are not this host's: nobody locks or enters them.
class HiddenTree final : public cgroup::Tree {
 public:
  explicit HiddenTree(std::unique_ptr<cgroup::Tree> tree) : tree_(std::move(tree)) {}
  const cgroup::Layout& layout() const override { return tree_->layout(); }
  Result<void> Create(std::string_view path) override { return tree_->Create(path); }
  Result<int> Write(std::string_view path, const CgroupValues& values) override { return tree_->Write(path, values); }
  Result<CgroupValues> Read(std::string_view path) override { return tree_->Read(path); }
  Result<CpuSet> ReadCpus(std::string_view path) override { return tree_->ReadCpus(path); }
  Result<std::vector<int>> Pids(std::string_view path) override { return tree_->Pids(path); }
  Result<void> Kill(std::string_view path, os::Millis patience) override { return tree_->Kill(path, patience); }
  Result<void> Remove(std::string_view path) override { return tree_->Remove(path); }
  Result<std::vector<std::string>> Children(std::string_view path) override { return tree_->Children(path); }
  CgroupDirs Dirs(std::string_view) const override { return {}; }
  std::uint64_t writes() const override { return tree_->writes(); }

 private:
  std::unique_ptr<cgroup::Tree> tree_;
};

/// Containers with processes in the kernel's groups.
class KernelRuntime final : public runtime::Runtime {
 public:
  KernelRuntime(FakeRuntime& fake, FakeCgroups& kernel, MemoryFs& disk) : fake_(fake), kernel_(kernel), disk_(disk) {}
  Result<runtime::ContainerStatus> Start(const runtime::StartRequest& request) override {
    BERTH_TRY(runtime::ContainerStatus status, fake_.Start(request));
    for (const QosClass qos : {QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort}) {
      const cgroup::Names names;
      const std::string path =
          std::string(kRoot) + "/" + names.Container(names.Pod(qos, status.pod_uid), status.container);
      if (!disk_.IsDir(kernel_.Dir("cpuset", path))) continue;
      paths[status.id] = path;
      BERTH_RETURN_IF_ERROR(kernel_.AddProcess(path, status.pid));
    }
    return status;
  }
  Result<void> Signal(std::string_view id, int signal) override {
    BERTH_RETURN_IF_ERROR(fake_.Signal(id, signal));
    kernel_.EndProcess(fake_.containers[std::string(id)].pid);
    return {};
  }
  Result<std::vector<runtime::ContainerStatus>> List() override { return fake_.List(); }
  int event_fd() const override { return fake_.event_fd(); }
  std::vector<runtime::ContainerStatus> Poll() override { return fake_.Poll(); }
  Result<void> Forget(std::string_view id) override { return fake_.Forget(id); }
  void Killed(int pid) {
    for (const auto& [id, status] : std::map(fake_.containers))
      if (status.pid == pid) fake_.Exit(id, 137);
    kernel_.EndProcess(pid);
  }

  std::map<std::string, std::string> paths;  // by container id

 private:
  FakeRuntime& fake_;
  FakeCgroups& kernel_;
  MemoryFs& disk_;
};

/// Everything that outlives berthd: disk, kernel, containers.
struct Host {
  explicit Host(bool v2)
      : kernel(disk, {.v2 = v2, .cpus = "0-3", .mems = "0"}), fake(steps), runtime(fake, kernel, disk) {
    engine::testing::Shape shape{.cores_per_node = 4, .threads = 1};
    auto made = engine::Node::Make(engine::testing::MakeMachine(shape), engine::testing::StaticConfig("0"));
    BERTH_CHECK(made.has_value());
    node.emplace(*std::move(made));
    kernel.on_write = [this](const std::string&, const std::string&) { CheckOverlap(); };
  }

  /// No running container may run on CPUs another running one was started on alone.
  void CheckOverlap() {
    for (const auto& [id, mine] : alone) {
      const auto me = fake.containers.find(id);
      if (me == fake.containers.end() || me->second.state != runtime::ContainerState::kRunning) continue;
      for (const auto& [other, status] : fake.containers)
        if (other != id && status.state == runtime::ContainerState::kRunning) {
          EXPECT_FALSE(kernel.EffectiveCpus(runtime.paths[other]).Intersects(mine)) << other << " on CPUs of " << id;
        }
    }
  }

  std::optional<state::Saved> Load() {
    auto loaded = state::Store::Make(testkit::Share(disk))->Load(nullptr);
    EXPECT_TRUE(loaded) << "a ledger always loads";
    return loaded ? *loaded : std::nullopt;
  }

  /// What is on disk is free of contradictions, and what runs keeps to it.
  void CheckAll() {
    const auto saved = Load();
    if (!saved) return;
    for (const std::string& problem : Contradictions(saved->ledger)) ADD_FAILURE() << problem;
    for (const auto& [id, status] : fake.containers)
      if (status.state == runtime::ContainerState::kRunning) {
        EXPECT_TRUE(saved->ledger.pods.contains(status.pod_uid)) << id << " runs without a record";
      }
    CheckOverlap();
  }

  MemoryFs disk;
  FakeCgroups kernel;
  Steps steps;
  FakeRuntime fake;
  KernelRuntime runtime;
  testkit::ManualClock clock;
  testkit::TempDir logs;
  EventLog events{clock, nullptr, 1000};
  std::optional<engine::Node> node;
  std::map<std::string, CpuSet> alone;  // running containers that have CPUs for themselves
};

/// One life of berthd on a host, its files reached through `fs`.
class Life {
 public:
  Life(Host& host, os::Fs& fs) : host_(host) {
    auto tree = cgroup::OpenTree(testkit::Share(fs), *cgroup::DiscoverLayout(host.disk), kRoot,
                                 {.kill = [&host](const std::vector<int>&, const auto& still_there) -> Result<void> {
                                    BERTH_TRY(const std::vector<int> pids, still_there());
                                    for (const int pid : pids) host.runtime.Killed(pid);
                                    return {};
                                  },
                                  .wait = [](os::Millis) {}});
    if (!tree) {
      why_ = tree.error().message;
      return;
    }
    tree_ = std::make_unique<HiddenTree>(*std::move(tree));
    store_ = state::Store::Make(testkit::Share(fs));
    auto saved = store_->Load(nullptr);
    if (!saved) {
      why_ = saved.error().message;
      return;
    }
    manager_.emplace(
        ManagerParts{
            .store = *store_, .tree = *tree_, .runtime = host.runtime, .events = host.events, .clock = host.clock},
        *host.node,
        ManagerOptions{.node_name = "n1", .log_dir = host.logs.path(), .boot_id = "boot", .machine_fingerprint = "m"});
    const auto started = manager_->Start(*saved, host.clock.Now());
    started_ = started.has_value();
    if (!started) why_ = started.error().message;
  }
  bool started() const { return started_; }
  const std::string& why() const { return why_; }  ///< not started
  PodManager& manager() { return *manager_; }

  void Want(const std::vector<Pod>& pods) {
    source::Snapshot snapshot;
    snapshot.ready = true;
    snapshot.pods = pods;
    manager_->OnSnapshot(std::move(snapshot), host_.clock.Now());
    manager_->OnRuntime(host_.clock.Now());
    Note();
  }
  void Later() {
    host_.clock.Advance(std::chrono::seconds(31));
    manager_->OnRuntime(host_.clock.Now());
    Note();
  }
  void Note() {
    host_.alone.clear();
    for (const auto& [id, status] : host_.fake.containers) {
      if (status.state != runtime::ContainerState::kRunning) continue;
      const auto pod = manager_->ledger().pods.find(status.pod_uid);
      if (pod == manager_->ledger().pods.end()) continue;
      if (const Placement* p = FindPlacement(pod->second, status.container); p != nullptr && p->cpus)
        host_.alone[id] = *p->cpus;
    }
  }

 private:
  Host& host_;
  std::unique_ptr<cgroup::Tree> tree_;
  std::unique_ptr<state::Store> store_;
  std::optional<PodManager> manager_;
  bool started_ = false;
  std::string why_;
};

Pod Pinned(const std::string& uid, const std::string& cpus) {
  return engine::testing::MakePod(uid, {engine::testing::MakeContainer("app", {{"cpu", cpus}, {"memory", "1Mi"}})});
}

Pod Shared() {
  Pod out;
  out.uid = "s";
  out.name = "pod-s";
  out.containers.emplace_back().name = "app";
  return out;
}

/// A day of berthd: admissions, releases, a resize of the pool with each, and a repair.
struct Step {
  const char* what;
  std::vector<Pod> wanted;
  bool repair = false;
};
std::vector<Step> Day() {
  const Pod s = Shared();
  const Pod a = Pinned("a", "2");
  const Pod b = Pinned("b", "1");
  return {{"admit shared", {s}}, {"admit two CPUs", {s, a}}, {"admit one CPU", {s, b, a}},
          {"release", {s, b}},   {"repair", {s, b}, true},   {"release all", {}}};
}

void Disturb(Host& host) {
  ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", host.runtime.paths["s_app_0"], "cpuset.cpus", "0"));
}

class CrashTest : public testing::TestWithParam<bool> {};

TEST_P(CrashTest, KilledAtAnyCallBerthdLosesNothing) {
  int kills = 0;
  std::map<std::string, int> by_step;
  for (int at = 0;; ++at) {
    Host host(GetParam());
    KillingFs killing(host.disk, at);
    bool died = false;
    std::optional<Life> life;
    try {
      life.emplace(host, killing);
    } catch (const Died&) {
      died = true;
    }
    for (const Step& step : Day()) {
      try {
        if (!died && step.repair) Disturb(host);
        if (!died) step.repair ? life->Later() : life->Want(step.wanted);
      } catch (const Died&) {
        died = true;
      }
      if (!died) continue;
      ++kills;
      ++by_step[step.what];
      died = false;
      host.CheckAll();
      life.emplace(host, host.disk);
      ASSERT_TRUE(life->started()) << "call " << at;
      host.CheckAll();
      life->Want(step.wanted);
      if (step.repair) life->Later();
      for (const Pod& pod : step.wanted) ASSERT_TRUE(host.fake.Runs(pod.uid, "app")) << "call " << at << " " << pod.uid;
      ASSERT_EQ(life->manager().ledger().pods.size(), step.wanted.size()) << "call " << at;
      host.CheckAll();
    }
    life->Later();
    ASSERT_EQ(life->manager().ledger().shared, host.node->all_cpus()) << "call " << at;
    ASSERT_TRUE(host.fake.containers.empty()) << "call " << at;
    if (HasFailure() || killing.calls() <= at) break;
  }
  std::printf("killed at %d calls:", kills);
  for (const auto& [what, count] : by_step) std::printf(" %s %d,", what.c_str(), count);
  std::printf(" every promise kept\n");
  EXPECT_GT(kills, 100);
}

/// An import is one save: killed anywhere, there is the ledger of before or the imported one.
TEST_P(CrashTest, AnImportKilledAtAnyCallIsDoneOrNot) {
  const state::KubeletFiles files{
      .cpu = state::KubeletCpuState{.policy = "static",
                                    .default_cpus = engine::testing::Cpus("0-1"),
                                    .entries = {{"u", {{"app", engine::testing::Cpus("2-3")}}}}},
      .memory = {},
      .devices = {}};
  const state::Saved imported{state::ImportKubelet(files, {}).ledger, "", ""};
  int kills = 0;
  for (int at = 0;; ++at) {
    MemoryFs disk;
    const state::Saved before{Ledger{.cpu_policy = "static", .shared = engine::testing::Cpus("0-3")}, "boot", "m"};
    ASSERT_TRUE(state::Store::Make(testkit::Share(disk))->Save(before));
    KillingFs killing(disk, at);
    bool done = false;
    try {
      const auto store = state::Store::Make(testkit::Share(killing));
      done = store->Load(nullptr) && store->Save(imported);
    } catch (const Died&) {
      ++kills;
    }
    const auto after = state::Store::Make(testkit::Share(disk))->Load(nullptr);
    ASSERT_TRUE(after && *after);
    ASSERT_TRUE(**after == imported || (!done && **after == before)) << at;
    if (done) break;
  }
  std::printf("import killed at %d calls\n", kills);
}

INSTANTIATE_TEST_SUITE_P(Versions, CrashTest, testing::Bool(),
                         [](const auto& v) { return std::string(v.param ? "V2" : "V1"); });

}  // namespace
}  // namespace berth::daemon
