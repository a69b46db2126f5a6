// A pod that is written as a manifest is read as the same pod: what `berth apply` stores is what it was given.
#include <gtest/gtest.h>

#include <random>
#include <type_traits>

#include "api/codec/codec.h"
#include "manifest/manifest.h"

namespace berth {
namespace {

/// Pods in which every field may be set. Each value is taken apart by its fields: one that is added to the model does
/// not compile here until it is generated too.
class Pods {
 public:
  explicit Pods(std::uint64_t seed) : random_(seed) {}

  Pod Next() {
    Pod pod;
    auto& [name, namespace_, uid, labels, annotations, created, inits, apps, restart, grace, active, gates, os,
           overhead, resources, node, priority, priority_class, host_network, host_pid, host_ipc, host_users,
           shared_pid, runtime_class, hostname, subdomain, fqdn, dns_policy, dns, aliases, pull_secrets, volumes,
           security, status_qos, phase] = pod;
    name = Name();
    namespace_ = Coin() ? "default" : Name();
    if (Coin()) uid = "u-" + Name();
    if (Coin()) labels = {{"app", Text()}, {"n", "1"}};
    if (Coin()) annotations = {{"note", Text()}};
    if (Coin()) created = "2026-01-02T03:04:05Z";
    volumes = Several([&](int i) { return OneVolume(i); });
    if (Coin()) os = "linux";
    has_os_ = !os.empty();
    inits = Several([&](int i) { return OneContainer("init" + std::to_string(i), true); });
    apps = Several([&](int i) { return OneContainer("app" + std::to_string(i), false); });
    apps.push_back(OneContainer("last", false));
    restart = Pick({RestartPolicy::kAlways, RestartPolicy::kOnFailure, RestartPolicy::kNever});
    grace = static_cast<std::int64_t>(Below(100));
    if (Coin()) active = static_cast<std::int64_t>(1 + Below(100));
    gates = Several([&](int i) { return "example.com/g" + std::to_string(i); });
    if (Coin()) overhead = {{"memory", Quantity::FromBytes(MiB(8))}};
    if (Coin()) resources = Resources{.requests = {{"memory", Quantity::FromBytes(GiB(9))}}, .limits = {}};
    if (Coin()) node = Name();
    if (Coin()) priority = static_cast<std::int32_t>(Below(1000)) - 500;
    if (Coin()) priority_class = Name();
    host_network = Coin();
    if (Coin()) hostname = Name();
    host_pid = Coin();
    host_ipc = Coin();
    if (Coin()) host_users = host_network || host_pid || host_ipc || Coin();
    shared_pid = !host_pid && Coin();
    if (Coin()) runtime_class = Name();
    if (Coin()) subdomain = Name();
    fqdn = Coin();
    dns_policy = Pick<std::string>({"", "ClusterFirst", "ClusterFirstWithHostNet", "Default"});
    if (Coin()) dns = {.servers = {"10.0.0.1", "fd00::1"}, .searches = {Name()}, .options = {"edns0", "ndots:2"}};
    aliases = Several([&](int) { return HostAlias{.ip = "10.1.2.3", .hostnames = {Name(), Name() + ".b"}}; });
    pull_secrets = Several([&](int) { return Name(); });
    security = OneSecurity(/*pod=*/true);
    if (Coin()) status_qos = Pick({QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort});
    if (Coin()) phase = "Running";
    return pod;
  }

 private:
  std::uint64_t Below(std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random_); }
  bool Coin() { return Below(2) == 0; }
  template <class Value>
  Value Pick(std::initializer_list<Value> values) {
    return values.begin()[Below(values.size())];
  }
  std::string Name() { return "n" + std::to_string(Below(1000)); }
  std::string Text() {
    return Pick<std::string>({"", "yes", "0x1f", "a b", "\"q\"", "{x}", "ü", "# no", "- 1", "null"});
  }
  std::string FilePath() { return "/" + Name() + Pick<std::string>({"", "/data", "/a b"}); }
  template <class Make>
  std::vector<std::invoke_result_t<Make, int>> Several(Make&& make) {
    std::vector<std::invoke_result_t<Make, int>> out;
    for (int i = 0; i < static_cast<int>(Below(3)); ++i) out.push_back(make(i));
    return out;
  }
  std::optional<bool> Maybe() { return Coin() ? std::optional(Coin()) : std::nullopt; }

  SecurityContext OneSecurity(bool pod) {
    SecurityContext out;
    auto& [app_armor, app_armor_local, se_linux, proc_mount, sysctls, user, group, non_root, privileged, read_only,
           escalation, add, drop, seccomp, localhost, fs_group, fs_policy, groups, groups_policy] = out;
    if (Coin()) app_armor = Pick<std::string>({"RuntimeDefault", "Unconfined", "Localhost"});
    if (app_armor == "Localhost") app_armor_local = Name();
    if (Coin()) se_linux = {.user = "u", .role = Text(), .type = Text(), .level = "s0:c1,c2"};
    proc_mount = Pick<std::string>({"", "Default", "Unmasked"});
    sysctls = Several([&](int) { return std::pair<std::string, std::string>("net.core.somaxconn", Text()); });
    if (Coin()) user = static_cast<std::int64_t>(Below(70'000));
    if (Coin()) group = static_cast<std::int64_t>(Below(70'000));
    non_root = Maybe();
    privileged = Maybe();
    read_only = Maybe();
    if (!privileged.value_or(false)) escalation = Maybe();  // the API refuses both
    add = Several([](int i) { return "CAP_" + std::to_string(i); });
    drop = Several([](int) { return std::string("ALL"); });
    if (Coin()) seccomp = Pick<std::string>({"RuntimeDefault", "Unconfined", "Localhost"});
    if (seccomp == "Localhost") localhost = "profiles/" + Name();
    if (!pod) {
      sysctls.clear();
    } else {  // its containers alone have the rest
      proc_mount.clear();
      privileged = read_only = escalation = std::nullopt;
      add.clear();
      drop.clear();
      if (Coin()) fs_group = static_cast<std::int64_t>(Below(70'000));
      if (Coin()) fs_policy = Pick<std::string>({"Always", "OnRootMismatch"});
      groups = Several([](int i) { return std::int64_t{1000} + i; });
      if (Coin()) groups_policy = Pick<std::string>({"Merge", "Strict"});
    }
    return out;
  }

  Volume OneVolume(int i) {
    Volume out;
    auto& [name, kind, host_path, type, medium, size_limit, sources, file_mode] = out;
    name = "volume" + std::to_string(i);
    kind = Pick({Volume::Kind::kHostPath, Volume::Kind::kEmptyDir, Volume::Kind::kFiles, Volume::Kind::kOther});
    if (kind == Volume::Kind::kHostPath) host_path = FilePath();
    if (kind == Volume::Kind::kHostPath) type = Pick<std::string>({"", "Directory", "FileOrCreate"});
    if (kind == Volume::Kind::kOther) type = Pick<std::string>({"csi", "nfs", "persistentVolumeClaim"});
    if (kind == Volume::Kind::kEmptyDir) medium = Pick<std::string>({"", "Memory", "HugePages-2Mi"});
    if (kind == Volume::Kind::kEmptyDir && Coin()) size_limit = Quantity::FromUnits(4096);
    if (kind != Volume::Kind::kFiles) return out;
    type = Pick<std::string>({"configMap", "secret", "downwardAPI", "projected"});
    if (Coin()) file_mode = 0440;
    if (type != "downwardAPI") sources.push_back(OneSource(type == "secret"));
    if (type != "configMap" && type != "secret") sources.push_back(OneDownwardSource());
    return out;
  }

  VolumeSource OneSource(bool secret) {
    VolumeSource out;
    auto& [document, name, optional, items] = out;
    document = secret ? DocumentKind::kSecret : DocumentKind::kConfigMap;
    name = Name();
    optional = Coin();
    items = Several([&](int i) {
      VolumeItem item{.path = "d/" + std::to_string(i), .key = "k.y", .field_path = {}};
      if (Coin()) item.mode = 0777;
      return item;
    });
    return out;
  }

  VolumeSource OneDownwardSource() {
    return {.document = std::nullopt,
            .items = {{.path = "labels", .key = {}, .field_path = "metadata.labels"},
                      {.path = "cpus", .key = {}, .field_path = {}, .resource = OneAmount("last")}}};
  }

  ResourceField OneAmount(const std::string& container) {
    return {.container = container, .resource = "limits.cpu", .divisor = Quantity::FromMilli(Coin() ? 1 : 1000)};
  }

  VolumeMount OneMount(int i) {
    VolumeMount out;
    auto& [name, mount_path, sub_path, sub_path_expr, read_only, recursive, propagation] = out;
    name = "volume" + std::to_string(i);
    mount_path = FilePath();
    if (Coin())
      sub_path = Name() + "/x";
    else if (Coin())
      sub_path_expr = "$(V0)/x";
    read_only = Coin();
    const bool below = read_only && Coin();
    recursive = below ? Pick<std::string>({"IfPossible", "Enabled"}) : Pick<std::string>({"", "Disabled"});
    propagation =
        below ? Pick<std::string>({"", "None"}) : Pick<std::string>({"", "None", "HostToContainer", "Bidirectional"});
    return out;
  }

  EnvVar OneVariable(int i) {
    EnvVar out;
    auto& [name, value, field_path, resource, document] = out;
    name = "V" + std::to_string(i);
    if (Coin() && Coin())
      resource = OneAmount("");
    else if (Coin() && Coin())
      document = {.kind = DocumentKind::kSecret, .name = Name(), .key = "k_1", .optional = Coin()};
    else if (Coin())
      field_path = Pick<std::string>({"metadata.name", "status.hostIP", "metadata.labels['app']"});
    else
      value = Text();
    return out;
  }

  HttpCheck OneHttpCheck() {
    HttpCheck out;
    auto& [host, port, path, https, headers] = out;
    if (Coin()) host = Name();
    port = Coin() ? "p0" : "8080";
    path = FilePath();
    https = Coin();
    headers = Several([&](int i) { return std::pair("X-" + std::to_string(i), Text()); });
    return out;
  }

  std::optional<Probe> OneProbe(bool readiness) {
    if (Coin()) return std::nullopt;
    Probe out;
    auto& [check, delay, timeout, period, successes, failures, grace] = out;
    switch (Below(4)) {
      case 0: check = ExecCheck{{"/bin/sh", Text()}}; break;
      case 1: check = OneHttpCheck(); break;
      case 2: check = TcpCheck{.host = Coin() ? Name() : "", .port = Coin() ? "p0" : "1"}; break;
      default: check = GrpcCheck{.port = 9, .service = Coin() ? Name() : ""}; break;
    }
    if (Coin()) delay = static_cast<std::int32_t>(Below(9));
    if (Coin()) timeout = static_cast<std::int32_t>(1 + Below(9));
    if (Coin()) period = static_cast<std::int32_t>(1 + Below(9));
    if (readiness) successes = static_cast<std::int32_t>(1 + Below(3));
    if (Coin()) failures = static_cast<std::int32_t>(1 + Below(9));
    if (!readiness && Coin()) grace = static_cast<std::int64_t>(1 + Below(9));
    return out;
  }

  /// One way at most.
  void OneHook(std::vector<std::string>& exec, std::optional<HttpCheck>& http, std::int64_t& sleep) {
    switch (Below(4)) {
      case 0: exec = {"/bin/sh", Text()}; break;
      case 1: http = OneHttpCheck(); break;
      case 2: sleep = static_cast<std::int64_t>(1 + Below(100)); break;
      default: break;
    }
  }

  ContainerPort OnePort(int i) {
    ContainerPort out;
    auto& [name, port, host_port, host_ip, protocol] = out;
    name = "p" + std::to_string(i);
    port = 8000 + i;
    if (Coin()) host_port = 80;
    if (Coin()) host_ip = "127.0.0.1";
    protocol = Pick<std::string>({"TCP", "UDP", "SCTP"});
    return out;
  }

  Container OneContainer(const std::string& container_name, bool init) {
    Container out;
    auto& [name, image, pull_policy, command, args, working_dir, env_from, env, resources, resize, sidecar, policy,
           rules, ports, liveness, readiness, startup, post_start, post_start_http, post_start_sleep, pre_stop,
           pre_stop_http, pre_stop_sleep, stop_signal, message_path, message_from_log, mounts, security, input,
           input_once, terminal] = out;
    name = container_name;
    if (Coin()) image = "registry:5000/" + Name() + ":" + Name();
    if (!image.empty()) pull_policy = Pick<std::string>({"Always", "IfNotPresent", "Never"});
    if (image.empty() || Coin()) command = {"/bin/sh", "-c", Text() + "x\ny"};
    args = Several([&](int) { return Text(); });
    if (Coin()) working_dir = FilePath();
    env_from = Several([&](int i) {
      return EnvFrom{.kind = i == 0 ? DocumentKind::kSecret : DocumentKind::kConfigMap,
                     .name = Name(),
                     .prefix = Coin() ? "P_" : "",
                     .optional = Coin()};
    });
    env = Several([&](int i) { return OneVariable(i); });
    if (Coin()) resources.limits = {{"cpu", Quantity::FromMilli(1500)}, {"memory", Quantity::FromBytes(MiB(64))}};
    resources.requests = resources.limits;
    if (Coin()) resize = {"cpu", "memory"};
    sidecar = init && Coin();
    if (!sidecar && Coin()) policy = Pick({RestartPolicy::kOnFailure, RestartPolicy::kNever});
    if (!init && Coin()) policy = RestartPolicy::kAlways;
    if (policy) rules = Several([&](int i) { return RestartRule{.in = Coin(), .exit_codes = {i, 255}}; });
    ports = {OnePort(0), OnePort(1)};
    if (!init || sidecar) {
      liveness = OneProbe(false);
      readiness = OneProbe(true);
      startup = OneProbe(false);
      OneHook(post_start, post_start_http, post_start_sleep);
      OneHook(pre_stop, pre_stop_http, pre_stop_sleep);
    }
    if (has_os_ && Coin()) stop_signal = Pick<std::string>({"SIGUSR1", "SIGRTMIN+1"});
    if (Coin()) message_path = FilePath();
    message_from_log = Coin();
    mounts = Several([&](int i) { return OneMount(i); });
    security = OneSecurity(/*pod=*/false);
    input = Coin();
    input_once = Coin();
    terminal = Coin();
    return out;
  }

  std::mt19937_64 random_;
  bool has_os_ = false;  // of the pod that is being made
};

TEST(PodManifestTest, WhatIsWrittenIsReadAsTheSamePod) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Pod pod = Pods(seed).Next();
    const codec::Json json = codec::ToJson(pod);
    for (const std::string& text : {codec::ToYaml(json), codec::FormatJson(json)}) {
      const auto read = manifest::ParsePods(text, "written");
      ASSERT_TRUE(read) << "seed " << seed << "\n" << read.error().message << text;
      ASSERT_EQ(1U, read->pods.size());
      for (const manifest::Warning& warning : read->warnings)  // random classes are not the built-in ones
        EXPECT_TRUE(warning.where.contains("priorityClassName")) << "seed " << seed << ": " << warning.message;
      EXPECT_TRUE(read->pods.front() == pod) << "seed " << seed << "\n"
                                             << text << "came back as\n"
                                             << codec::ToYaml(codec::ToJson(read->pods.front()));
    }
  }
}

TEST(PodManifestTest, EmptyFieldsAreLeftOut) {
  Pod pod;
  pod.name = "web";
  pod.containers.emplace_back().name = "app";
  const codec::Json json = codec::ToJson(pod);
  EXPECT_EQ(
      R"({"restartPolicy":"Always","terminationGracePeriodSeconds":30,"containers":[{"name":"app","resources":{}}]})",
      json["spec"].dump());
}

}  // namespace
}  // namespace berth
