#include "api/codec/views.h"

#include <gtest/gtest.h>

#include "api/codec/generator_test.h"

namespace berth::codec {
namespace {

constexpr std::uint64_t kSeeds = 300;

/// Random values of everything berthd tells.
class Views : public Generator {
 public:
  using Generator::Generator;

  std::vector<std::string> Words() {
    std::vector<std::string> out;
    for (std::uint64_t n = Below(3); n > 0; --n) out.push_back(Word());
    return out;
  }
  int Small() { return static_cast<int>(Below(1000)); }
  /// Microseconds, as texts have them.
  WallTime Time() {
    return WallTime(std::chrono::microseconds(static_cast<std::int64_t>(Below(4'000'000'000'000'000))));
  }
  std::string TimeText() { return Coin() ? FormatNanoTime(Time()) : ""; }

  ContainerRun Run() {
    ContainerRun out{.pid = Coin() ? 1 + Small() : 0,
                     .exit_code = {},
                     .started_at = TimeText(),
                     .finished_at = TimeText(),
                     .log_path = Word()};
    if (Coin()) out.exit_code = Small();
    return out;
  }
  ContainerPlace Place() {
    ContainerPlace out;
    if (Coin()) out.cpus = Ids<CpuSet>(300);
    if (!out.cpus && Coin()) {
      out.pool = Word();
      out.pool_cpus = Ids<CpuSet>(300);
    }
    out.known = Coin();
    if (out.known) {
      out.memory_nodes = Ids<NodeSet>(64);
      if (Coin()) out.devices = {{"vendor.example/gpu", Words()}, {"vendor.example/nic", {"a"}}};
      out.devices_reported = Coin();
      if (Coin()) out.hint = TopologyHint{.nodes = Ids<NodeSet>(64), .preferred = Coin()};
    }
    out.cgroup = Word();
    return out;
  }
  ContainerView OneContainer() {
    ContainerView out;
    out.name = Word();
    out.kind = static_cast<ContainerKind>(Below(3));
    out.image = Word();
    out.id = Word();
    out.phase = static_cast<ContainerPhase>(Below(3));
    out.reason = Word();
    out.message = Word();
    if (Coin()) out.last = Run();
    out.restarts = Small();
    if (Coin()) out.last_end = ContainerEnd{Small(), std::nullopt, Word(), Word(), TimeText()};
    if (out.last_end && Coin()) out.last_end->exit_code = Small();
    if (Coin()) out.place = Place();
    return out;
  }
  PodView OneView() {
    PodView out;
    out.namespace_ = Word();
    out.name = Word();
    out.uid = Word();
    out.source = Word();
    out.file = Word();
    out.qos = static_cast<QosClass>(Below(3));
    out.phase = static_cast<PodPhase>(Below(4));
    out.reason = Word();
    out.message = Word();
    out.details = Words();
    if (Coin()) out.admitted_at = Time();
    out.requests = List();
    out.limits = List();
    out.requests_from = static_cast<RequestsFrom>(Below(3));
    out.addresses = Words();
    if (Coin()) out.labels = {{Word(), Word()}, {"app", Word()}};
    for (std::uint64_t n = Below(4); n > 0; --n) out.containers.push_back(OneContainer());
    return out;
  }
  Event OneEvent() {
    return {.id = 0,
            .time = Time(),
            .type = Coin() ? EventType::kNormal : EventType::kWarning,
            .reason = Word(),
            .object = Word(),
            .message = Word(),
            .count = Below(99)};
  }
  PodDetails Details() {
    PodDetails out;
    out.view = std::make_shared<const PodView>(OneView());
    out.shared = Ids<CpuSet>(64);
    out.trace.Add(Word(), Word(), Word(), Word());
    out.kubelet_version = kKubeletVersions[static_cast<std::size_t>(Below(kKubeletVersions.size()))];
    out.manifest = Manifest();
    for (std::uint64_t n = Below(3); n > 0; --n) out.events.push_back(OneEvent());
    return out;
  }

  SecurityContext Security() {
    SecurityContext out;
    if (Coin()) out.run_as_user = Small();
    if (Coin()) out.run_as_group = Small();
    if (Coin()) out.run_as_non_root = Coin();
    if (Coin()) out.privileged = Coin();
    if (Coin()) out.read_only_root = Coin();
    if (Coin()) out.allow_privilege_escalation = Coin();
    out.add_capabilities = Words();
    out.drop_capabilities = Words();
    if (Coin()) out.seccomp = "Localhost";
    if (Coin()) out.seccomp_localhost = "p.json";
    if (Coin()) out.app_armor = "Localhost";
    if (Coin()) out.app_armor_localhost = "p";
    if (Coin()) out.se_linux = {.user = Word(), .role = "", .type = Word(), .level = "s0:c1,c2"};
    if (Coin()) out.proc_mount = "Unmasked";
    if (Coin()) out.sysctls = {{"kernel.shm_rmid_forced", "1"}, {"net.core.somaxconn", "4"}};
    return out;
  }
  HttpCheck OneHttpCheck() {
    HttpCheck out{.host = "", .port = Coin() ? "8080" : "web", .path = "/x", .https = Coin(), .headers = {}};
    if (Coin()) out.host = Word();
    if (Coin()) out.headers = {{"A", Word()}, {"A", Word()}};
    return out;
  }
  std::optional<Probe> OneProbe() {
    Probe out{.check = {},
              .initial_delay_s = Small(),
              .timeout_s = 2,
              .period_s = 3,
              .success_threshold = 4,
              .failure_threshold = 5,
              .termination_grace_s = {}};
    if (Coin()) out.termination_grace_s = Small();
    switch (Below(5)) {
      case 0: return std::nullopt;
      case 1: out.check = ExecCheck{Words()}; break;
      case 2: out.check = OneHttpCheck(); break;
      case 3: out.check = TcpCheck{.host = Coin() ? Word() : "", .port = "99"}; break;
      default: out.check = GrpcCheck{.port = 7, .service = Coin() ? Word() : ""}; break;
    }
    return out;
  }
  Container OneManifestContainer() {
    Container out;
    out.name = Word();
    if (Coin()) out.image = Word();
    if (Coin()) out.image_pull_policy = "Always";
    out.command = Words();
    out.args = Words();
    if (Coin()) out.working_dir = "/tmp";
    if (Coin())
      out.env = {
          {.name = "A", .value = Word(), .field_path = ""},
          {.name = "B", .value = "", .field_path = "f"},
          {.name = "C", .resource = ResourceField{.resource = "requests.memory", .divisor = Quantity::FromUnits(1)}},
          {.name = "D", .document = DocumentKey{DocumentKind::kSecret, "s", "k", Coin()}}};
    out.resources = {.requests = List(), .limits = List()};
    out.restartable_init = Coin();
    out.post_start_exec = Words();
    if (Coin()) out.post_start_http = OneHttpCheck();
    out.post_start_sleep_s = static_cast<std::int64_t>(Below(3));
    out.pre_stop_exec = Words();
    if (Coin()) out.pre_stop_http = OneHttpCheck();
    out.pre_stop_sleep_s = static_cast<std::int64_t>(Below(3));
    if (Coin()) out.stop_signal = "SIGUSR1";
    if (Coin()) out.termination_message_path = Word();
    out.message_from_log = Coin();
    if (Coin()) out.ports = {{.name = Word(), .port = Small(), .host_port = 80, .host_ip = Word(), .protocol = "UDP"}};
    out.liveness = OneProbe();
    out.readiness = OneProbe();
    out.startup = OneProbe();
    if (Coin()) out.restart_rules = {{.in = Coin(), .exit_codes = {1, 42}}};
    if (Coin())
      out.mounts = {{Word(), "/m", "s", "", true, "Enabled", "Bidirectional"},
                    {Word(), "/n", "", "$(A)", false, "", ""}};
    if (Coin())
      out.env_from = {{DocumentKind::kSecret, "s", Word(), Coin()}, {DocumentKind::kConfigMap, "c", "", Coin()}};
    out.security = Security();
    out.stdin_open = Coin();
    out.stdin_once = Coin();
    out.tty = Coin();
    return out;
  }
  void Isolate(Pod& out) {
    out.host_pid = Coin();
    out.host_ipc = Coin();
    if (Coin()) out.host_users = Coin();
    out.share_process_namespace = Coin();
    if (Coin()) out.runtime_class = "kata";
    if (Coin()) out.subdomain = "sub";
    out.hostname_as_fqdn = Coin();
    if (Coin()) out.dns_policy = "None";
    out.dns = {.servers = Words(), .searches = Words(), .options = {}};
    if (Coin()) out.dns.options = {"edns0", "ndots:2"};
    if (Coin()) out.host_aliases = {{.ip = "10.0.0.1", .hostnames = {"a", "b"}}};
    out.image_pull_secrets = Words();
  }
  Pod Manifest() {
    Pod out;
    out.name = Word();
    out.namespace_ = Word();
    if (Coin()) out.uid = Word();
    if (Coin()) out.labels = {{"a", Word()}};
    if (Coin()) out.annotations = {{"b", Word()}};
    for (std::uint64_t n = Below(3); n > 0; --n) out.init_containers.push_back(OneManifestContainer());
    for (std::uint64_t n = Below(3); n > 0; --n) {
      out.containers.push_back(OneManifestContainer());
      out.containers.back().restartable_init = false;
      if (Coin()) out.containers.back().restart_policy = static_cast<RestartPolicy>(Below(3));
    }
    out.restart_policy = static_cast<RestartPolicy>(Below(3));
    out.termination_grace_s = Small();
    if (Coin()) out.active_deadline_s = Small();
    if (Coin()) out.readiness_gates = {Word()};
    if (Coin()) out.os = "linux";
    out.overhead = List();
    if (Coin()) out.resources = Resources{.requests = List(), .limits = List()};
    if (Coin()) out.node_name = Word();
    out.priority = Small();
    if (Coin()) out.priority_class = Word();
    out.host_network = Coin();
    if (Coin()) out.hostname = Word();
    Isolate(out);
    if (Coin())
      out.volumes = {{.name = "v", .kind = Volume::Kind::kHostPath, .host_path = "/h", .type = "Directory"},
                     {.name = "e", .medium = Coin() ? "Memory" : "", .size_limit = Quantity::FromUnits(7)},
                     {.name = "o", .kind = Volume::Kind::kOther, .type = "nfs"},
                     Files("configMap"),
                     Files("projected")};
    out.security = Security();
    if (Coin()) out.status_qos = QosClass::kBurstable;
    if (Coin()) out.phase = "Running";
    return out;
  }

  Volume Files(const std::string& type) {
    const ResourceField amount{.container = "a", .resource = "limits.cpu", .divisor = Quantity::FromMilli(1)};
    Volume out{.name = type, .kind = Volume::Kind::kFiles, .type = type, .file_mode = 0400};
    out.sources = {{.document = DocumentKind::kConfigMap,
                    .name = "c",
                    .optional = Coin(),
                    .items = {{.path = "p/q", .key = "k", .mode = 0600}}}};
    if (type == "projected") {
      out.sources.push_back({.document = DocumentKind::kSecret, .name = "s"});
      out.sources.push_back(
          {.document = std::nullopt,
           .items = {{.path = "l", .field_path = "metadata.labels"}, {.path = "r", .resource = amount}}});
    }
    return out;
  }

  Health HowItIs() { return {.started = Coin(), .not_ready = Words()}; }
  DaemonStatus Status() {
    DaemonStatus out;
    out.version = Word();
    out.node_name = Word();
    out.pid = Small();
    if (Coin()) out.started_at = Time();
    out.cgroup_version = Word();
    out.runtime = Word();
    out.runtime_endpoint = Word();
    out.machine_source = Word();
    out.ledger_revision = Below(~std::uint64_t{0});
    out.pods = Below(500);
    out.cgroup_writes = Below(~std::uint64_t{0});
    if (Coin()) out.runtime_calls = {{"Version", {.calls = Below(99), .failed = Below(9)}}};
    out.pod_folder = Word();
    out.cgroup_root = Word();
    out.cgroup_driver = Word();
    out.loop = {.turns = Below(99), .longest = {Small(), Word()}, .longest_lately = {Small(), Word()}};
    if (Coin()) out.history = HistoryStatus{Word(), Below(99), Below(9), Below(9), Word()};
    out.warnings = Words();
    return out;
  }
  DeviceInventory Inventory() {
    DeviceInventory out;
    for (std::uint64_t kinds = Below(3); kinds > 0; --kinds) {
      std::vector<Device>& devices = out["vendor.example/" + Word()];
      for (std::uint64_t n = Below(4); n > 0; --n)
        devices.push_back({.id = Word(), .nodes = Ids<NodeSet>(8), .healthy = Coin(), .pci = Coin() ? Word() : ""});
    }
    return out;
  }
  NodeView Node() {
    return {.capacity = List(),
            .allocatable = List(),
            .reserved_cpus = Ids<CpuSet>(64),
            .all_cpus = Ids<CpuSet>(64),
            .cpu_policy = Word(),
            .memory_policy = Word(),
            .topology_policy = Word(),
            .topology_scope = Word(),
            .kubelet_version = kKubeletVersions[static_cast<std::size_t>(Below(kKubeletVersions.size()))],
            .node_fit = Coin(),
            .close_devices = Coin(),
            .judge_by_free_memory = Coin(),
            .memory_groups_overlap = Coin(),
            .pod_falls_back = Coin(),
            .keep_rest_aligned = Coin(),
            .look_ahead = Coin(),
            .preempts_for_critical = Coin(),
            .own = Rules(),
            .kubelet_configuration = Word(),
            .conditions = {.memory_pressure = Coin(),
                           .pid_pressure = Coin(),
                           .ledger_problem = Word(),
                           .pool_problem = Word(),
                           .runtime_problem = Word(),
                           .releasing = Words()}};
  }
  Explanation Rejected() {
    Explanation out;
    out.decision = Reject{.reason = Word(), .message = Word(), .container = Word(), .details = Words()};
    out.shortages = {{.container = Word(),
                      .resource = Word(),
                      .scope = static_cast<Shortage::Scope>(Below(3)),
                      .nodes = Ids<NodeSet>(64),
                      .requested = Small(),
                      .free = Small(),
                      .capacity = Small(),
                      .missing = Small()}};
    out.holders = {{Word(), Word(), Word(), Word(), Small(), Ids<NodeSet>(64)}};
    if (Coin())
      out.nearest = NearestRequest{Manifest(), {{Word(), "cpu", Quantity::FromMilli(1500), Quantity::FromUnits(1)}}};
    out.nearest_exhaustive = Coin();
    if (Coin()) out.settings = {Word()};
    if (Coin()) out.removal = Removal{.pods = {{Word(), Word()}}, .smallest = Coin()};
    return out;
  }
  Explanation Admitted() {
    Admit yes;
    if (Coin()) yes.delta.put = OnePod();
    if (Coin()) yes.delta.removed = Word();
    yes.delta.shared = Ids<CpuSet>(64);
    yes.delta.memory = OneLedger().memory;
    Explanation out;
    out.decision = std::move(yes);
    return out;
  }
  Move OneMove() {
    Move out;
    out.request = {.uid = Word(), .container = Coin() ? Word() : "", .nodes = Ids<NodeSet>(8)};
    out.pod = Word();
    MovedContainer& moved = out.containers.emplace_back();
    moved.from.container = moved.to.container = Word();
    moved.from.cpus = Ids<CpuSet>(64);
    moved.to.cpus = Ids<CpuSet>(64);
    if (Coin()) moved.to.memory = {{.nodes = Ids<NodeSet>(8), .type = "memory", .size = GiB(1)}};
    out.bytes = GiB(1);
    return out;
  }
  Outlook OneOutlook() {
    Outlook out;
    out.pod = Word();
    out.qos = static_cast<QosClass>(Below(3));
    out.machine = Word();
    out.was_there = Coin();
    if (Coin()) out.wait = Wait{Word(), Word()};
    out.notes = Words();
    if (Coin()) out.versions = {{KubeletVersion::k1_38, Word(), Word(), Word()}};
    out.explanation = Coin() ? Admitted() : Rejected();
    out.explanation.hints = {{Word(), Word(), std::nullopt, true}, {Word(), Word(), Hints(std::in_place), Coin()}};
    out.explanation.hints.push_back({Word(), Word(), {{{.nodes = Ids<NodeSet>(64), .preferred = Coin()}}}, true});
    out.explanation.merges = {{Word(), {.nodes = {}, .preferred = Coin()}, Coin(), Word()}};
    out.explanation.steps = {{Word(), Word(), Word(), Word()}};
    return out;
  }
  TreeView Tree() {
    TreeView out{.cgroup_version = Word(), .driver = Word(), .root = Word(), .host_groups = {}, .groups = {}};
    if (Coin()) out.host_groups = {{Word(), Word(), Small(), std::nullopt, Word()}, {Word(), Word(), 1, Size(), ""}};
    for (std::uint64_t n = Below(3); n > 0; --n)
      out.groups.push_back({Word(), Word(), Word(), {{Word(), "1", "1", Word()}, {Word(), "1", "2", Word()}}});
    return out;
  }
};

/// A value that was read gives the JSON it was read from, and is the value that was written.
template <class Value, class Read>
void ExpectComesBack(const Value& value, Read&& read, std::uint64_t seed) {
  const Json json = ToJson(value);
  const auto back = read(ThroughText(json));
  ASSERT_TRUE(back) << seed << ": " << back.error().message;
  EXPECT_EQ(FormatJson(ToJson(*back)), FormatJson(json)) << seed;
  if constexpr (requires { value == *back; }) {
    EXPECT_EQ(*back, value) << seed;
  }
}

TEST(ViewsTest, WhatBerthdTellsComesBackExactly) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Views random(seed);
    ExpectComesBack(random.Status(), DaemonStatusFromJson, seed);
    ExpectComesBack(random.HowItIs(), HealthFromJson, seed);
    ExpectComesBack(random.Node(), NodeViewFromJson, seed);
    ExpectComesBack(random.Inventory(), DeviceInventoryFromJson, seed);
    ExpectComesBack(random.Tree(), TreeViewFromJson, seed);
    ExpectComesBack(random.Details(), PodDetailsFromJson, seed);
    ExpectComesBack(random.OneOutlook(), OutlookFromJson, seed);
    ExpectComesBack(EventList{{random.OneEvent(), random.OneEvent()}, random.Coin(), random.Word()}, EventListFromJson,
                    seed);
    ExpectComesBack(StoredPods{{{random.Word(), random.Word(), random.Word(), static_cast<StoreAction>(seed % 3)}},
                               random.Words(),
                               random.Words()},
                    StoredPodsFromJson, seed);
    ExpectComesBack(DeletedPod{random.Word(), random.Word(), random.Word()}, DeletedPodFromJson, seed);
    ExpectComesBack(RestartedPod{random.Word(), random.Word(), random.Words()}, RestartedPodFromJson, seed);
    ExpectComesBack(random.OneMove(), MoveFromJson, seed);
    ExpectComesBack(random.OneMove().request, MoveRequestFromJson, seed);
    ExpectComesBack(LogPage{random.Word(),
                            random.Coin(),
                            {{random.TimeText(), "stdout", random.Word(), random.Coin()}},
                            random.Word(),
                            random.Coin(),
                            random.Coin()},
                    LogPageFromJson, seed);
    ExpectComesBack(CommandEnd{random.Word() + "\xff", random.Word(), random.Small(), random.Word()},
                    CommandEndFromJson, seed);
    ExpectComesBack(ImageList{random.Word(), random.Word(), {{random.Word(), random.Words(), random.Words(), seed}}},
                    ImageListFromJson, seed);
  }
}

TEST(ViewsTest, PodsComeBackWithTheSharedPoolTheyRunIn) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Views random(seed);
    PodList pods;
    for (std::uint64_t n = random.Below(4); n > 0; --n)
      pods.pods.push_back(std::make_shared<const PodView>(random.OneView()));
    pods.shared = random.Ids<CpuSet>(64);
    const Json json = ToJson(pods);
    const auto back = PodListFromJson(ThroughText(json));
    ASSERT_TRUE(back) << seed << ": " << back.error().message;
    EXPECT_EQ(FormatJson(ToJson(*back)), FormatJson(json)) << seed;
    ASSERT_EQ(back->pods.size(), pods.pods.size()) << seed;
    for (std::size_t i = 0; i < pods.pods.size(); ++i) {
      EXPECT_EQ(*back->pods[i], *pods.pods[i]) << seed;
      for (const ContainerView& container : pods.pods[i]->containers)
        EXPECT_EQ(CpusOf(container, back->shared), CpusOf(container, pods.shared)) << seed;
    }
  }
}

TEST(ViewsTest, ErrorsNameTheField) {
  Views random(1);
  PodDetails pod = random.Details();
  pod.view = std::make_shared<const PodView>(PodView{.namespace_ = "default", .name = "web", .containers = {{}}});
  Json json = ToJson(pod);
  json["containers"][0]["state"] = "asleep";
  EXPECT_EQ(PodDetailsFromJson(json).error(),
            (Error{Code::kInvalid, 0, "containers[0].state: unknown value \"asleep\""}));
  json["containers"][0].erase("state");
  EXPECT_EQ(PodDetailsFromJson(json).error().message, "containers[0]: the field \"state\" is missing");
  json = ToJson(pod);
  json["admittedAt"] = "yesterday";
  EXPECT_EQ(PodDetailsFromJson(json).error().message, "admittedAt: expected a time like 2026-01-02T03:04:05Z");
  json = ToJson(CommandEnd{});
  json["stdout"] = "*";
  EXPECT_EQ(CommandEndFromJson(json).error().message, "stdout: expected base64");
  EXPECT_EQ(DaemonStatusFromJson(Json::array()).error().code, Code::kInvalid);
}

TEST(ViewsTest, FieldsOfALaterBerthdAreIgnored) {
  Json json = ToJson(DeletedPod{"default", "web", "/pods/web.yaml"});
  json["since"] = 7;
  EXPECT_EQ(*DeletedPodFromJson(json), (DeletedPod{"default", "web", "/pods/web.yaml"}));
}

}  // namespace
}  // namespace berth::codec
