// berthd killed, or refused by the disk or the kernel, at every call that changes a file: of the ledger and of cgroups.
// Store and cgroup tree are the real ones, on a disk and a kernel in memory.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "allocator/testing/random_node.h"
#include "daemon/fake_node_test.h"
#include "host/cgroup/host_tree.h"
#include "model/promises.h"
#include "node/checkpoint/ledger_import.h"
#include "node/checkpoint/verify.h"
#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"

namespace berth::daemon {
namespace {

using testkit::FakeCgroups;
using testkit::FaultFs;
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
  Result<cgroup::Cpuset> ReadCpuset(std::string_view path) override { return tree_->ReadCpuset(path); }
  Result<std::optional<Bytes>> MemoryUsage(std::string_view path) override { return tree_->MemoryUsage(path); }
  Result<std::vector<int>> Pids(std::string_view path) override { return tree_->Pids(path); }
  Result<void> Kill(std::string_view path, os::Millis patience) override { return tree_->Kill(path, patience); }
  Result<void> Remove(std::string_view path, os::Millis patience) override { return tree_->Remove(path, patience); }
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
    allocator::testing::Shape shape{.cores_per_node = 4, .threads = 1};
    auto made = allocator::Node::Make(allocator::testing::MakeMachine(shape), allocator::testing::StaticConfig("0"));
    BERTH_CHECK(made.has_value());
    node.emplace(*std::move(made));
    kernel.on_write = [this](const std::string&, const std::string&) { CheckOverlap(); };
  }

  /// No running container may run on CPUs that another running one has alone and may run on: those it had, and those
  /// the ledger in force gives it. While it is resized it may run on some of both.
  void CheckOverlap() {
    for (const auto& [id, had] : alone) {
      const auto me = fake.containers.find(id);
      if (me == fake.containers.end() || me->second.state != runtime::ContainerState::kRunning) continue;
      CpuSet mine = had;
      if (ledger != nullptr)
        if (const auto pod = ledger->pods.find(me->second.pod_uid); pod != ledger->pods.end())
          mine |= ExclusiveCpus(pod->second);
      mine &= kernel.EffectiveCpus(runtime.paths[id]);
      for (const auto& [other, status] : fake.containers)
        if (other != id && status.state == runtime::ContainerState::kRunning) {
          EXPECT_FALSE(kernel.EffectiveCpus(runtime.paths[other]).Intersects(mine)) << other << " on CPUs of " << id;
        }
    }
  }

  std::optional<checkpoint::Saved> Load() {
    auto loaded = checkpoint::Store::Make(testkit::Share(disk))->Load(nullptr);
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
  events::EventLog events{clock, nullptr, 1000};
  std::optional<allocator::Node> node;
  std::map<std::string, CpuSet> alone;  // running containers that have CPUs for themselves
  const Ledger* ledger = nullptr;       // in force; nullptr: no berthd is there
};

/// One life of berthd on a host, its files reached through `fs`.
class BerthdLife {
 public:
  BerthdLife(Host& host, os::Fs& fs) : host_(host) {
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
    store_ = checkpoint::Store::Make(testkit::Share(fs));
    auto saved = store_->Load(nullptr);
    if (!saved) {
      why_ = saved.error().message;
      return;
    }
    manager_.emplace(
        *store_, *tree_, host.runtime, host.events, host.clock, host.steps, *host.node,
        core::NodeOptions{.pods = {.node_name = "n1"}, .boot = {.boot_id = "boot", .machine_fingerprint = "m"}},
        pods::StaticPodOptions{.log_dir = host.logs.path()});
    host.ledger = &manager_->ledger();
    const auto started = manager_->Start(*saved, host.clock.Now());
    started_ = started.has_value();
    if (!started) why_ = started.error().message;
  }
  ~BerthdLife() { host_.ledger = nullptr; }
  BerthdLife(const BerthdLife&) = delete;
  BerthdLife& operator=(const BerthdLife&) = delete;
  bool started() const { return started_; }
  const std::string& why() const { return why_; }  ///< not started
  TestManager& manager() { return *manager_; }

  void Want(const std::vector<Pod>& pods) {
    pod_sources::Snapshot snapshot;
    snapshot.ready = true;
    for (const Pod& pod : pods) {
      snapshot.identities.emplace(FullName(pod), pod_sources::IdentityOf(pod));
      snapshot.pods.push_back(std::make_shared<const Pod>(pod));
    }
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
  std::unique_ptr<checkpoint::Store> store_;
  std::optional<TestManager> manager_;
  bool started_ = false;
  std::string why_;
};

Pod SmallPinned(const std::string& uid, const std::string& cpus) {
  return allocator::testing::MakePod(uid,
                                     {allocator::testing::MakeContainer("app", {{"cpu", cpus}, {"memory", "1Mi"}})});
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
  const Pod a = SmallPinned("a", "2");
  const Pod b = SmallPinned("b", "1");
  return {
      {"admit shared", {s}},          {"admit two CPUs", {s, a}},   {"grow to three CPUs", {s, SmallPinned("a", "3")}},
      {"shrink to two CPUs", {s, a}}, {"admit one CPU", {s, b, a}}, {"release", {s, b}},
      {"repair", {s, b}, true},       {"release all", {}}};
}

void Disturb(Host& host) {
  ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", host.runtime.paths["s_app_0"], "cpuset.cpus", "0"));
}

class CrashPropertyTest : public testing::TestWithParam<bool> {};

/// The calls at which a test kills or fails: every one when BERTH_PROPERTY_STEPS is set, else some of them.
struct Sample {
  Sample(int standard_stride, int first_of_some)
      : stride(allocator::testing::PropertySteps(0) > 0 ? 1 : standard_stride), first(first_of_some % stride) {}
  int stride;
  int first;
};

/// The calls of a day on which nothing goes wrong, by step.
std::vector<std::pair<std::string, int>> CallsOfDay(bool v2) {
  Host host(v2);
  KillingFs counting(host.disk, -1);
  BerthdLife life(host, counting);
  EXPECT_TRUE(life.started()) << life.why();
  std::vector<std::pair<std::string, int>> out{{"start", counting.calls()}};
  int before = counting.calls();
  for (const Step& step : Day()) {
    if (step.repair) Disturb(host);
    step.repair ? life.Later() : life.Want(step.wanted);
    out.emplace_back(step.what, counting.calls() - before);
    before = counting.calls();
  }
  return out;
}

/// A day with a kill at the n-th call, and a new berthd after it.
void KillAt(bool v2, int at) {
  SCOPED_TRACE(fmt::format("call {}", at));
  Host host(v2);
  KillingFs killing(host.disk, at);
  int deaths = 0;
  bool died = false;
  std::optional<BerthdLife> life;
  const auto survive = [&](const auto& work) {
    try {
      work();
    } catch (const Died&) {
      died = true;
      ++deaths;
    }
  };
  survive([&] { life.emplace(host, killing); });
  for (const Step& step : Day()) {
    if (!died && step.repair) Disturb(host);
    if (!died) survive([&] { step.repair ? life->Later() : life->Want(step.wanted); });
    if (!std::exchange(died, false)) continue;
    host.CheckAll();
    life.emplace(host, host.disk);
    ASSERT_TRUE(life->started()) << life->why();
    host.CheckAll();
    life->Want(step.wanted);
    if (step.repair) life->Later();
    for (const Pod& pod : step.wanted) ASSERT_TRUE(host.fake.Runs(pod.uid, "app")) << pod.uid;
    ASSERT_EQ(life->manager().ledger().pods.size(), step.wanted.size());
    host.CheckAll();
  }
  life->Later();
  ASSERT_EQ(life->manager().ledger().shared, host.node->all_cpus());
  ASSERT_TRUE(host.fake.containers.empty());
  ASSERT_EQ(deaths, 1);
}

TEST_P(CrashPropertyTest, KilledAtAnyCallBerthdLosesNothing) {
  int calls = 0;
  std::string by_step;
  for (const auto& [what, count] : CallsOfDay(GetParam())) {
    calls += count;
    by_step += fmt::format("{}{} {}", by_step.empty() ? "" : ", ", what, count);
  }
  const Sample sample(3, 1);
  int kills = 0;
  for (int at = sample.first; at < calls; at += sample.stride, ++kills) {
    KillAt(GetParam(), at);
    if (HasFailure()) return;
  }
  std::printf("%d calls (%s), killed at %d of them (stride %d, first %d): every promise kept\n", calls, by_step.c_str(),
              kills, sample.stride, sample.first);
  EXPECT_GT(calls, 100);
}

// ---- writes that fail --------------------------------------------------------------------------------------------

/// Once; once although the change was made; for a while; in half.
std::vector<FaultFs::Plan> FailureKinds() {
  using Kind = FaultFs::Kind;
  return {{.kind = Kind::kFail, .sys = ENOSPC},
          {.kind = Kind::kFailAfter, .sys = EIO},
          {.kind = Kind::kFailOn, .sys = EROFS},
          {.kind = Kind::kShortWrite, .sys = EIO}};
}

/// A day on which the disk or the kernel refuses something.
class FailingDay {
 public:
  FailingDay(bool v2, const FaultFs::Plan& plan) : host_(v2), faulty_(host_.disk, plan) {}

  /// False: it needs fewer changes than that.
  bool Run() {
    Start();
    for (const Step& step : Day()) {
      if (testing::Test::HasFatalFailure()) return false;
      SCOPED_TRACE(step.what);
      Do(step);
    }
    if (testing::Test::HasFatalFailure()) return false;
    TryAgain();
    EXPECT_EQ(life_->manager().ledger().shared, host_.node->all_cpus());
    EXPECT_TRUE(host_.fake.containers.empty());
    return faulty_.fired();
  }
  int changes() const { return faulty_.changes(); }
  int refused() const { return refused_; }

 private:
  /// A start that fails says why, and the next one works.
  void Start() {
    life_.emplace(host_, faulty_);
    if (life_->started()) return;
    EXPECT_NE(life_->why().find("injected fault"), std::string::npos) << life_->why();
    faulty_.Heal();
    healed_ = true;
    life_.emplace(host_, faulty_);
    ASSERT_TRUE(life_->started()) << life_->why();
  }

  void Do(const Step& step) {
    const std::size_t pods_before = life_->manager().ledger().pods.size();
    if (step.repair) Disturb(host_);
    step.repair ? life_->Later() : life_->Want(step.wanted);
    for (const auto& [uid, managed] : life_->manager().pods())
      if (managed.why().reason == "LedgerNotSaved") {
        CheckRefused(managed);
        EXPECT_FALSE(healed_);
        EXPECT_EQ(life_->manager().ledger().pods.size(), pods_before);
      }
    host_.CheckAll();
    if (faulty_.fired() && !healed_) life_->Later();  // it may last
    host_.CheckAll();
    HealIfFailed();
    TryAgain();
    for (const Pod& pod : step.wanted) ASSERT_TRUE(host_.fake.Runs(pod.uid, "app")) << pod.uid << "\n" << Events();
    ASSERT_EQ(life_->manager().ledger().pods.size(), step.wanted.size()) << Events();
    host_.CheckAll();
  }

  void HealIfFailed() {
    if (!faulty_.fired() || healed_) return;
    CheckReported();
    faulty_.Heal();
    healed_ = true;
  }

  /// As often as it takes after a failure.
  void TryAgain() {
    for (int tries = 0; tries < 3; ++tries) {
      const bool healed_before = healed_;
      life_->Later();
      HealIfFailed();
      if (healed_ != healed_before) tries = 0;
    }
  }

  /// It has the reason, nothing in the ledger, in memory and on disk, and does not run.
  void CheckRefused(const ManagedPod& managed) {
    ++refused_;
    const std::string& uid = managed.pod.uid;
    EXPECT_NE(managed.why().message.find("injected fault"), std::string::npos) << managed.why().message;
    EXPECT_FALSE(life_->manager().ledger().pods.contains(uid));
    EXPECT_FALSE(host_.fake.Runs(uid, "app"));
    const auto saved = host_.Load();
    EXPECT_EQ(saved ? saved->ledger.pods : Ledger().pods, life_->manager().ledger().pods);
  }

  void CheckReported() {
    EXPECT_TRUE(std::ranges::any_of(
        host_.events.events(),
        [](const Event& event) { return event.message.find("injected fault") != std::string::npos; }))
        << "nobody is told\n"
        << Events();
  }

  std::string Events() const {
    std::string out;
    for (const Event& event : host_.events.events())
      out += fmt::format("{} {}: {}\n", event.reason, event.object, event.message);
    return out;
  }

  Host host_;
  FaultFs faulty_;
  std::optional<BerthdLife> life_;
  bool healed_ = false;
  int refused_ = 0;
};

/// The n-th change fails. A pod whose record could not be saved is refused with the reason and the ledger stays as it
/// was; whatever else failed is reported and tried again until it works.
TEST_P(CrashPropertyTest, AFailureAtAnyChangeIsReportedAndOvercome) {
  int failures = 0;
  int refused = 0;
  int changes = 0;
  const std::vector<FaultFs::Plan> kinds = FailureKinds();
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    const Sample sample(9, static_cast<int>(2 * k));  // each kind at other changes
    for (int at = sample.first;; at += sample.stride, ++failures) {
      SCOPED_TRACE(fmt::format("change {}, kind {}", at, k));
      FailingDay day(GetParam(), {.at = at, .kind = kinds[k].kind, .sys = kinds[k].sys});
      const bool fired = day.Run();
      if (HasFailure()) return;
      refused += day.refused();
      if (!fired) changes = day.changes();
      if (!fired) break;
    }
  }
  std::printf("%d changes; %d failures overcome, %d times a pod was refused for the ledger\n", changes, failures,
              refused);
  EXPECT_GT(refused, allocator::testing::PropertySteps(0) > 0 ? 5 : 0);
}

// ---- import ------------------------------------------------------------------------------------------------------

/// A disk with a ledger, and what a kubelet's file makes of it.
struct ImportCase {
  ImportCase() { EXPECT_TRUE(checkpoint::Store::Make(testkit::Share(disk))->Save(before)); }
  Result<void> Import(os::Fs& fs) const {
    const auto store = checkpoint::Store::Make(testkit::Share(fs));
    BERTH_TRY([[maybe_unused]] const auto now, store->Load(nullptr));
    return store->Save(imported);
  }
  std::optional<checkpoint::Saved> OnDisk() {
    const auto saved = checkpoint::Store::Make(testkit::Share(disk))->Load(nullptr);
    return saved ? *saved : std::nullopt;
  }

  MemoryFs disk;
  checkpoint::KubeletFiles files{
      .cpu = checkpoint::KubeletCpuState{.policy = "static",
                                         .default_cpus = allocator::testing::Cpus("0-1"),
                                         .entries = {{"u", {{"app", allocator::testing::Cpus("2-3")}}}}},
      .memory = {},
      .devices = {}};
  checkpoint::Saved imported{checkpoint::ImportKubelet(files, nullptr).ledger, "", ""};
  checkpoint::Saved before{Ledger{.cpu_policy = "static", .shared = allocator::testing::Cpus("0-3")}, "boot", "m"};
};

/// An import is one save: killed anywhere, there is the ledger of before or the imported one.
TEST(CrashTest, AnImportKilledAtAnyCallIsDoneOrNot) {
  for (int at = 0;; ++at) {
    ImportCase it;
    KillingFs killing(it.disk, at);
    bool done = false;
    try {
      done = it.Import(killing).has_value();
    } catch (const Died&) {
      ASSERT_TRUE(it.OnDisk() == it.before || it.OnDisk() == it.imported) << at;
      continue;
    }
    ASSERT_TRUE(done && it.OnDisk() == it.imported);
    std::printf("import killed at %d calls\n", at);
    return;
  }
}

TEST(CrashTest, AnImportThatCannotBeSavedLeavesTheLedgerOfBefore) {
  int failures = 0;
  for (const FaultFs::Plan& kind : FailureKinds())
    for (int at = 0;; ++at, ++failures) {
      ImportCase it;
      FaultFs faulty(it.disk, {.at = at, .kind = kind.kind, .sys = kind.sys});
      const auto done = it.Import(faulty);
      ASSERT_EQ(done.has_value(), !faulty.fired());
      ASSERT_TRUE(it.OnDisk() == (done ? it.imported : it.before)) << "change " << at;
      if (done) break;
      ASSERT_NE(done.error().message.find("injected fault"), std::string::npos) << done.error().message;
    }
  std::printf("import failed at %d changes\n", failures);
}

INSTANTIATE_TEST_SUITE_P(Versions, CrashPropertyTest, testing::Bool(),
                         [](const auto& v) { return std::string(v.param ? "V2" : "V1"); });

}  // namespace
}  // namespace berth::daemon
