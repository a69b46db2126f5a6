// A node for tests of the manager: store, cgroups and runtime in memory that write down every step, check the promises
// of Berth after each, and can die at any of them.
#ifndef BERTH_DAEMON_FAKE_NODE_TEST_H_
#define BERTH_DAEMON_FAKE_NODE_TEST_H_

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/loop_thread.h"
#include "daemon/dry_run.h"
#include "daemon/pod_manager.h"
#include "frontend/pod_sources/static_pod.h"
#include "frontend/static_pods/static_pod_options.h"
#include "host/machine/load_machine.h"
#include "node/checkpoint/store.h"
#include "testing/fixtures.h"
#include "testing/queued_executor.h"

namespace berth::daemon {

/// Groups of the containers of pods with the uids "web" (Guaranteed) and "back" (BestEffort), below Berth's root.
inline constexpr const char* kWeb = "kubepods/poduid-web/web";
inline constexpr const char* kBack = "kubepods/besteffort/poduid-back/back";

/// berthd is gone at this point; thrown by fakes, caught by tests.
struct Died {};

/// What all fakes share: the log of steps and the hook after each.
class Steps {
 public:
  /// Dies in place of step number `n` (0 first); nullopt: never.
  void DieAt(std::optional<int> n) { die_at_ = n, count_ = 0; }
  /// Called after each step.
  void set_check(std::function<void()> check) { check_ = std::move(check); }
  void Before() {
    if (die_at_ && count_ >= *die_at_) throw Died{};
    ++count_;
  }
  void After(std::string step) {
    log_.push_back(std::move(step));
    if (check_) check_();
  }
  const std::vector<std::string>& log() const { return log_; }
  void ClearLog() { log_.clear(); }
  int count() const { return count_; }
  /// Position of the first step that starts with `prefix`, at `from` or later; -1: none.
  int Find(std::string_view prefix, int from = 0) const {
    for (std::size_t i = static_cast<std::size_t>(from); i < log_.size(); ++i)
      if (log_[i].starts_with(prefix)) return static_cast<int>(i);
    return -1;
  }

 private:
  std::vector<std::string> log_;
  std::function<void()> check_;
  std::optional<int> die_at_;
  int count_ = 0;
};

class FakeStore final : public checkpoint::Store {
 public:
  explicit FakeStore(Steps& steps) : steps_(steps) {}
  Result<std::optional<checkpoint::Saved>> Load(std::vector<std::string>*) override { return saved; }
  Result<void> Save(const checkpoint::Saved& value) override {
    if (full) return Fail(Code::kExhausted, "save the ledger to /state/ledger: No space left on device");
    steps_.Before();
    saved = value;
    steps_.After("save");
    return {};
  }
  std::optional<checkpoint::Saved> saved;
  bool full = false;

 private:
  Steps& steps_;
};

/// Containers that run until the test or a signal ends them. Their processes are known to the tree.
class FakeRuntime final : public runtime::Runtime {
 public:
  explicit FakeRuntime(Steps& steps) : steps_(steps), fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  Result<runtime::ContainerStatus> Start(const runtime::StartRequest& request) override {
    if (refuse) return Fail(Code::kIo, *refuse);
    steps_.Before();
    last_request = request;
    runtime::ContainerStatus status;
    status.id = request.pod_uid + "_" + request.container.name + "_" + std::to_string(request.attempt);
    status.pod_uid = request.pod_uid;
    status.container = request.container.name;
    status.attempt = request.attempt;
    status.state = runtime::ContainerState::kRunning;
    status.started_at = "2026-01-02T00:00:00.000000Z";
    status.log_path = request.log_path;
    status.pid = next_pid++;
    containers.insert_or_assign(status.id, status);
    steps_.After("start " + request.container.name);
    return status;
  }
  Result<void> Stop(const runtime::StopRequest& request) override {
    stops.push_back(request);
    return Runtime::Stop(request);
  }
  Result<void> Signal(std::string_view id, int signal) override {
    steps_.Before();
    steps_.After("signal " + std::string(id));
    if (!deaf) Exit(std::string(id), 128 + signal);
    return {};
  }
  Result<std::vector<runtime::ContainerStatus>> List() override {
    std::vector<runtime::ContainerStatus> out;
    for (const auto& [id, status] : containers) out.push_back(status);
    changed.clear();
    return out;
  }
  int event_fd() const override { return fd_.get(); }
  std::vector<runtime::ContainerStatus> Poll() override {
    std::vector<runtime::ContainerStatus> out;
    for (const std::string& id : std::exchange(changed, {})) out.push_back(containers[id]);
    return out;
  }
  Result<void> Forget(std::string_view id) override {
    steps_.Before();
    containers.erase(std::string(id));
    steps_.After("forget " + std::string(id));
    return {};
  }

  void Exit(const std::string& id, int code) {
    const auto it = containers.find(id);
    if (undying || it == containers.end() || it->second.state != runtime::ContainerState::kRunning) return;
    it->second.state = runtime::ContainerState::kExited;
    it->second.exit_code = code;
    it->second.finished_at = it->second.started_at;
    changed.push_back(id);
  }
  bool Runs(std::string_view uid, std::string_view container) const {
    for (const auto& [id, status] : containers)
      if (status.pod_uid == uid && status.container == container && status.state == runtime::ContainerState::kRunning)
        return true;
    return false;
  }

  std::map<std::string, runtime::ContainerStatus> containers;  // by id
  std::vector<std::string> changed;
  std::vector<runtime::StopRequest> stops;
  std::optional<std::string> refuse;
  std::optional<runtime::StartRequest> last_request;
  bool deaf = false;     // SIGTERM is ignored
  bool undying = false;  // SIGKILL too: its processes wait in the kernel
  int next_pid = 100;

 private:
  Steps& steps_;
  os::UniqueFd fd_;
};

/// Cgroups in memory. A container's processes are in its group as long as the runtime says so, or `stuck` names it.
class FakeTree final : public cgroup::Tree {
 public:
  FakeTree(const Machine& machine, Steps& steps, FakeRuntime& runtime, testkit::ManualClock& clock)
      : steps_(steps), runtime_(runtime), clock_(clock), tree_(machine), layout_(tree_.layout()) {
    for (cgroup::ControllerMount& controller : layout_.controllers) controller.mount = "/cg";
  }

  const cgroup::Layout& layout() const override { return layout_; }
  Result<void> Create(std::string_view path) override {
    if (!tree_.Read(path)) {
      steps_.Before();
      BERTH_RETURN_IF_ERROR(tree_.Create(path));
      steps_.After("mkdir " + std::string(path));
    }
    if (!answers_late.contains(std::string(path))) return {};
    waits_for_answer = true;
    return Fail(Code::kBusy, fmt::format("make {}: systemd is being asked", path));
  }
  bool asking() override { return waits_for_answer; }
  Result<int> Write(std::string_view path, const CgroupValues& values) override {
    if (refuse_writes.contains(std::string(path))) return Fail(Code::kIo, "set cpuset of " + std::string(path));
    if (refuse_memory && path == "kubepods" && values.memory_max)
      return Fail(Code::kBusy, "set memory of " + std::string(path));
    auto now = tree_.Read(path);
    if (!now) return std::unexpected(now.error());
    if (values.cpus && now->cpus != values.cpus) steps_.Before();
    const bool cpus = values.cpus && now->cpus != values.cpus;
    auto written = tree_.Write(path, values);
    if (cpus) steps_.After("cpus " + std::string(path) + " " + FormatIds(*values.cpus));
    return written;
  }
  Result<void> NarrowCpus(std::string_view path, const CpuSet& cpus) override {
    if (refuse_narrowing) return Fail(Code::kBusy, "a group below has more");
    return cgroup::Tree::NarrowCpus(path, cpus);
  }
  Result<CgroupValues> Read(std::string_view path) override { return tree_.Read(path); }
  Result<CpuSet> ReadCpus(std::string_view path) override {
    ++looks;
    if (cpus_take > os::Millis(0)) clock_.Advance(cpus_take);
    return cgroup::Tree::ReadCpus(path);
  }
  Result<cgroup::Cpuset> ReadCpuset(std::string_view path) override {
    ++looks;
    if (look_takes > os::Millis(0)) clock_.Advance(look_takes);
    return cgroup::Tree::ReadCpuset(path);
  }
  Result<std::vector<int>> Pids(std::string_view path) override {
    if (const auto slow = pids_take.find(path); slow != pids_take.end()) clock_.Advance(slow->second);
    std::vector<int> out;
    if (crowded) return tree_.Read(path) ? std::vector<int>{7} : out;
    for (const auto& [id, status] : runtime_.containers)
      if (status.state == runtime::ContainerState::kRunning && PathOf(status).starts_with(path))
        out.push_back(status.pid);
    for (const std::string& group : stuck)
      if (group.starts_with(path)) out.push_back(7);
    return out;
  }
  Result<std::optional<Bytes>> MemoryUsage(std::string_view) override { return memory_used; }
  Result<std::optional<Bytes>> WorkingSet(std::string_view path) override {
    const auto used = working_sets.find(path);
    return used == working_sets.end() ? std::optional<Bytes>() : used->second;
  }
  Result<std::optional<Bytes>> ActiveFile(std::string_view path) override {
    const auto cache = active_files.find(path);
    return cache == active_files.end() ? std::optional<Bytes>() : cache->second;
  }
  Result<std::optional<cgroup::HostFigures>> Figures() override { return figures; }
  Result<std::optional<CpuSet>> OnlineCpus() override {
    auto now = online;
    if (next_online && looks_until_next-- == 0) online = std::exchange(next_online, std::nullopt);
    return now;
  }
  Result<void> Kill(std::string_view path, os::Millis patience) override {
    longest_wait = std::max(longest_wait, patience);
    for (const auto& [id, status] : std::map(runtime_.containers))
      if (PathOf(status).starts_with(path)) runtime_.Exit(id, 137);
    if (auto pids = Pids(path); pids && !pids->empty())
      return Fail(Code::kBusy,
                  fmt::format("processes of cgroup {} survive SIGKILL: {} (state D)", path, pids->front()));
    return {};
  }
  using cgroup::Tree::Remove;
  Result<void> Remove(std::string_view path, os::Millis patience) override {
    longest_wait = std::max(longest_wait, patience);
    if (auto pids = Pids(path); pids && !pids->empty()) return Fail(Code::kBusy, "remove: processes are still there");
    if (!tree_.Read(path)) return {};
    steps_.Before();
    auto removed = tree_.Remove(path);
    steps_.After("rmdir " + std::string(path));
    return removed;
  }
  Result<std::vector<std::string>> Children(std::string_view path) override { return tree_.Children(path); }
  Result<std::vector<std::string>> CpusetChildren(std::string_view path) override {
    ++walks;
    if (look_takes > os::Millis(0)) clock_.Advance(look_takes);
    return tree_.Children(path);
  }
  CgroupDirs Dirs(std::string_view path) const override {
    if (!has_dirs) return {};
    return {.v2 = true, .dirs = {path.empty() ? "/cg" : "/cg/" + std::string(path)}};
  }
  std::uint64_t writes() const override { return tree_.writes(); }

  /// Where the container's group is, over all tiers; "" when nowhere.
  std::string PathOf(const runtime::ContainerStatus& status) {
    for (const QosClass qos : {QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort}) {
      std::string path = cgroup::Names().Pod(qos, status.pod_uid) + "/" + status.container;
      if (tree_.Read(path)) return path;
    }
    return "";
  }
  /// A write by somebody else: no step of ours.
  void ForeignWrite(std::string_view path, const CpuSet& cpus) {
    CgroupValues values;
    values.cpus = cpus;
    ForeignWrite(path, values);
  }
  void ForeignWrite(std::string_view path, const CgroupValues& values) { ASSERT_TRUE(tree_.Write(path, values)); }

  /// The mount points show this part of the hierarchies.
  void ShowOnly(const std::string& root) {
    for (cgroup::ControllerMount& controller : layout_.controllers) controller.root = root;
  }

  int looks = 0;  // at CPUs of groups
  int walks = 0;  // at groups below one
  bool refuse_narrowing = false;
  os::Millis look_takes{0};                                  // time that passes in a look at one group
  os::Millis cpus_take{0};                                   // where only its CPUs are read
  std::map<std::string, os::Millis, std::less<>> pids_take;  // in a look at the processes of these groups
  bool refuse_memory = false;
  std::set<std::string> answers_late;  // groups that are made, but who asked for one is to ask again
  bool waits_for_answer = false;       // to such a question
  bool has_dirs = false;               // groups are below /cg
  std::optional<Bytes> memory_used;
  std::optional<CpuSet> online;
  std::optional<CpuSet> next_online;  // takes the place of `online` when that was read once more, and so often before
  int looks_until_next = 0;
  std::optional<cgroup::HostFigures> figures;
  std::map<std::string, Bytes, std::less<>> working_sets;  // by path
  std::map<std::string, Bytes, std::less<>> active_files;  // likewise
  os::Millis longest_wait{0};                              // that Kill and Remove were asked for
  std::set<std::string> stuck;                             // groups with a process that does not die
  bool crowded = false;                                    // every group has such a process
  std::set<std::string> refuse_writes;                     // groups the kernel refuses to change

 private:
  Steps& steps_;
  FakeRuntime& runtime_;
  testkit::ManualClock& clock_;
  DryRunTree tree_;
  cgroup::Layout layout_;
};

/// A manager whose slow work is over at once: each call returns when nothing waits for a disk any more. berthd can die
/// between the end of such work and what follows it, too.
class TestManager {
 public:
  TestManager(checkpoint::Store& store, cgroup::Tree& tree, runtime::Runtime& runtime, events::EventLog& events,
              const os::Clock& clock, Steps& steps, const allocator::Node& node, core::NodeOptions options,
              pods::StaticPodOptions pod_options, device_manager::Plugins* plugins = nullptr)
      : clock_(clock),
        executor_(steps),
        node_({.store = store,
               .tree = tree,
               .runtime = runtime,
               .events = events,
               .clock = clock,
               .executor = executor_,
               .plugins = plugins},
              node, std::move(options)),
        manager_(node_, std::move(pod_options), {.probes = executor_, .hooks = executor_, .plugins = executor_}) {}

  Result<void> Start(const std::optional<checkpoint::Saved>& saved, os::MonoTime now) {
    auto started = bare().Start(saved, now);
    if (started) Settle();
    return started;
  }
  void OnSnapshot(pod_sources::Snapshot snapshot, os::MonoTime) {
    Do([&] { bare().OnSnapshot(std::move(snapshot)); });
  }
  void OnRuntime(os::MonoTime now) {
    Do([&] { bare().OnRuntime(now); });
  }
  void OnDevices(os::MonoTime) {
    Do([&] { bare().OnDevices(); });
  }
  /// `who` wrote to the cpuset of the group at `dir`.
  void OnForeignWrite(std::string_view dir, std::string who, os::MonoTime now) {
    node_.OnWrites({.list = {{.path = std::string(dir) + "/cpuset.cpus", .pid = 9, .who = std::move(who)}}}, now);
  }
  void Tick(os::MonoTime now) {
    Do([&] { bare().Tick(now); });
  }
  void Sync(os::MonoTime) {
    Do([&] { bare().Sync(); });
  }
  void StopAll(os::MonoTime) {
    Do([&] { bare().StopAll(); });
  }
  bool idle() const { return manager_.idle(); }
  os::MonoTime next_due() const { return manager_.next_due(); }
  /// Called whenever the manager has returned to its loop.
  void set_on_turn(std::function<void()> turn) { on_turn_ = std::move(turn); }
  const Ledger& ledger() const { return node_.allocations().ledger(); }
  const allocator::Node& node() const { return node_.allocations().node(); }
  const pods::Pods& pods() const { return node_.pods(); }
  std::vector<std::string> Warnings() const { return manager_.Warnings(); }
  cgroup_manager::Enforcer& groups() { return node_.groups(); }
  /// For a test, which takes the place of the loop.
  PodManager& bare() BERTH_ASSERTS(loop_thread) {
    loop_thread.Claim();
    return manager_;
  }
  core::Node& core() { return node_; }
  testkit::QueuedExecutor& executor() { return executor_.queue; }

 private:
  struct DyingExecutor final : event_loop::Executor {
    explicit DyingExecutor(Steps& steps_) : steps(steps_) {}
    void Run(const std::string& name, Job job, Job then) override {
      queue.Run(name, std::move(job), [this, then = std::move(then)]() mutable {
        steps.Before();
        then();
      });
    }
    Steps& steps;
    testkit::QueuedExecutor queue;
  };

  template <class Work>
  void Do(Work work) {
    work();
    Settle();
  }
  void Settle() {
    on_turn_();
    while (executor_.queue.waiting() > 0 || manager_.next_due() == os::MonoTime()) {
      executor_.queue.RunAll();
      bare().Tick(clock_.Now());
      on_turn_();
    }
  }

  const os::Clock& clock_;
  DyingExecutor executor_;
  core::Node node_;
  PodManager manager_;
  std::function<void()> on_turn_ = [] {};
};

/// Everything that outlives a berthd.
struct FakeNode {
  explicit FakeNode(allocator::Node node_)
      : node(std::move(node_)), store(steps), runtime(steps), tree(node.machine(), steps, runtime, clock) {
    steps.set_check([this] { CheckPromises(); });
  }

  /// What holds after every step: no running container is allowed on a CPU that a saved record gives to another one
  /// alone, or that one in a named pool has who is in it, Berth's own group neither; what runs has a record; every
  /// container has a CPU.
  void CheckPromises() {
    for (const auto& [id, status] : runtime.containers)
      if (status.state == runtime::ContainerState::kRunning) CheckContainer(status, steps.log().back());
  }

  void CheckContainer(const runtime::ContainerStatus& status, const std::string& step) {
    ASSERT_TRUE(store.saved) << step;
    const auto record = store.saved->ledger.pods.find(status.pod_uid);
    ASSERT_NE(record, store.saved->ledger.pods.end()) << status.container << " runs without a record: " << step;
    const Placement* placement = FindPlacement(record->second, status.container);
    ASSERT_NE(placement, nullptr);
    const std::string path = tree.PathOf(status);
    ASSERT_FALSE(path.empty()) << status.container << " runs without a group: " << step;
    const CpuSet mine = *tree.Read(path)->cpus;
    EXPECT_FALSE(mine.empty()) << step;
    if (!placement->pool.empty()) return CheckPooled(*placement, mine, step);
    if (!placement->cpus) return;
    const CpuSet& own = *placement->cpus;
    // Beside its own a mixed container is on the pool, like others: also on what it gets when it grows.
    const CpuSet held = placement->mixed ? (resizing ? placement->promised.value_or(own) : own) & mine : mine;
    const bool on_the_way = resizing && (held.IsSubsetOf(own) || own.IsSubsetOf(held));
    if (!on_the_way) {
      EXPECT_EQ(held, own) << step;
    }
    EXPECT_FALSE(tree.Read(cgroup_manager::kOwnGroup)->cpus->Intersects(held))
        << "berthd is on exclusive CPUs: " << step;
    for (const auto& [id, other] : runtime.containers) {
      if (id == status.id || other.state != runtime::ContainerState::kRunning) continue;
      EXPECT_FALSE(tree.Read(tree.PathOf(other))->cpus->Intersects(held))
          << other.container << " is allowed on CPUs of " << status.container << ": " << step;
    }
  }

  /// Who is not in its named pool is on none of its CPUs.
  void CheckPooled(const Placement& placement, const CpuSet& mine, const std::string& step) {
    EXPECT_FALSE(tree.Read(cgroup_manager::kOwnGroup)->cpus->Intersects(mine))
        << "berthd is on CPUs of a pool: " << step;
    for (const auto& [id, other] : runtime.containers) {
      if (other.state != runtime::ContainerState::kRunning) continue;
      const auto record = store.saved->ledger.pods.find(other.pod_uid);
      if (record == store.saved->ledger.pods.end()) continue;  // said at that container
      const Placement* const its = FindPlacement(record->second, other.container);
      if (its != nullptr && its->pool == placement.pool) continue;
      EXPECT_FALSE(tree.Read(tree.PathOf(other))->cpus->Intersects(mine))
          << other.container << " is allowed on CPUs of " << PoolText(placement.pool) << ": " << step;
    }
  }

  /// A new berthd on what the last one left.
  std::unique_ptr<TestManager> Boot() {
    steps.DieAt(std::nullopt);
    return MakeManager();
  }
  std::unique_ptr<TestManager> MakeManager() {
    pod_options.log_dir = logs.path();
    return std::make_unique<TestManager>(store, tree, runtime, events, clock, steps, node, options, pod_options,
                                         plugins);
  }

  testkit::TempDir logs;
  testkit::ManualClock clock;
  core::NodeOptions options{.pods = {.node_name = "n1"}, .boot = {.boot_id = "boot", .machine_fingerprint = "m"}};
  pods::StaticPodOptions pod_options;
  Steps steps;
  allocator::Node node;
  device_manager::Plugins* plugins = nullptr;
  bool resizing = false;  ///< a container's own CPUs may be less or more than its record says, until they are written
  FakeStore store;
  FakeRuntime runtime;
  FakeTree tree;
  events::EventLog events{clock, nullptr, 1000};
};

// ---- what tests of the manager share ----

/// `cores` CPUs on `nodes` NUMA nodes, CPU policy static, CPU 0 reserved.
inline allocator::Node MakeNode(int cores = 4, int nodes = 1) {
  auto machine = machine::ParseSynthetic(fmt::format("numa:{} core:{} pu:1", nodes, cores / nodes));
  EXPECT_TRUE(machine) << machine.error().message;
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  auto node = allocator::Node::Make(*machine, config);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

inline Pod MakePod(const std::string& name, std::string_view cpu, QosClass qos = QosClass::kGuaranteed) {
  Pod pod;
  pod.name = name;
  pod.uid = "uid-" + name;
  Container& container = pod.containers.emplace_back();
  container.name = name;
  container.command = {"/bin/true"};
  if (qos == QosClass::kBestEffort) return pod;
  container.resources.requests.emplace("cpu", *Quantity::Parse(cpu));
  container.resources.requests.emplace("memory", *Quantity::Parse("1Mi"));
  if (qos == QosClass::kGuaranteed) container.resources.limits = container.resources.requests;
  return pod;
}

inline pod_sources::Snapshot Wanting(const std::vector<Pod>& pods) {
  pod_sources::Snapshot out;
  out.ready = true;
  for (const Pod& pod : pods) {
    out.files.emplace(FullName(pod), "/pods/" + pod.name + ".yaml");
    out.identities.emplace(FullName(pod), pod_sources::IdentityOf(pod));
    out.pods.push_back(std::make_shared<const Pod>(pod));
  }
  return out;
}

struct PodManagerTest : testing::Test {
  explicit PodManagerTest(allocator::Node node = MakeNode()) : world(std::move(node)) {}

  std::unique_ptr<TestManager> Boot() {
    auto manager = world.Boot();
    const auto started = manager->Start(world.store.saved, Now());
    EXPECT_TRUE(started) << started.error().message;
    return manager;
  }
  os::MonoTime Now() { return world.clock.Now(); }
  void Advance(TestManager& manager, os::Millis by) {
    world.clock.Advance(by);
    manager.Sync(Now());
  }
  CpuSet CpusAt(const std::string& path) {
    const auto values = world.tree.Read(path);
    return values && values->cpus ? *values->cpus : CpuSet();
  }
  /// The same as text; "": no such group, or it has none.
  std::string CpuTextAt(const std::string& path) { return FormatIds(CpusAt(path)); }
  bool HasEvent(std::string_view reason) {
    return std::ranges::any_of(world.events.events(), [&](const Event& e) { return e.reason == reason; });
  }

  FakeNode world;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_FAKE_NODE_TEST_H_
