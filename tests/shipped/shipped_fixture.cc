#include "shipped_fixture.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "run_program.h"
#include "testing/seen_groups.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNode = "n1";
constexpr int kProbeSeconds = 1;  // unless a probe says more
constexpr int kGraceSeconds = 30;

std::string TextOf(const YAML::Node& node, const std::string& otherwise = "") {
  return node ? node.as<std::string>() : otherwise;
}
bool IsTrue(const YAML::Node& node) { return node && node.as<bool>(); }

/// In thousandths; 0: nothing said.
std::int64_t Milli(const YAML::Node& resources, const char* list, const char* name) {
  if (!resources || !resources[list] || !resources[list][name]) return 0;
  const auto amount = Quantity::Parse(resources[list][name].as<std::string>());
  EXPECT_TRUE(amount) << amount.error().message;
  return amount ? amount->MilliValue() : 0;
}

/// Limits are requests where nothing else is said.
std::int64_t Request(const YAML::Node& resources, const char* name) {
  const std::int64_t request = Milli(resources, "requests", name);
  return request > 0 ? request : Milli(resources, "limits", name);
}

/// As a part of a group's name.
std::string TierOf(const YAML::Node& pod) {
  bool nothing = true;
  bool whole = true;
  for (const char* const kind : {"initContainers", "containers"})
    for (const YAML::Node& container : pod[kind])
      for (const char* const name : {"cpu", "memory"}) {
        const std::int64_t limit = Milli(container["resources"], "limits", name);
        nothing = nothing && Request(container["resources"], name) == 0;
        whole = whole && limit > 0 && Request(container["resources"], name) == limit;
      }
  return nothing ? "besteffort" : whole ? "" : "burstable";
}

void TakeSecurity(const YAML::Node& from, SecurityContext& to) {
  ExpectOnly(from, "securityContext",
             {"privileged", "readOnlyRootFilesystem", "runAsUser", "runAsGroup", "runAsNonRoot",
              "allowPrivilegeEscalation", "capabilities", "seccompProfile", "seLinuxOptions"});
  if (from["privileged"]) to.privileged = from["privileged"].as<bool>();
  if (from["readOnlyRootFilesystem"]) to.read_only_root = from["readOnlyRootFilesystem"].as<bool>();
  if (from["allowPrivilegeEscalation"]) to.allow_privilege_escalation = from["allowPrivilegeEscalation"].as<bool>();
  if (from["runAsUser"]) to.run_as_user = from["runAsUser"].as<std::int64_t>();
  if (from["runAsGroup"]) to.run_as_group = from["runAsGroup"].as<std::int64_t>();
  if (IsTrue(from["runAsNonRoot"])) {
    EXPECT_TRUE(to.run_as_user && *to.run_as_user != 0) << "runAsNonRoot of an image whose user is root";
  }
  if (const YAML::Node capabilities = from["capabilities"]) {
    ExpectOnly(capabilities, "capabilities", {"add", "drop"});
    for (const YAML::Node& name : capabilities["add"]) to.add_capabilities.push_back(name.as<std::string>());
    for (const YAML::Node& name : capabilities["drop"]) to.drop_capabilities.push_back(name.as<std::string>());
  }
  if (from["seLinuxOptions"]) to.se_linux = SeLinuxOptions{.type = TextOf(from["seLinuxOptions"]["type"])};
  if (from["seccompProfile"]) to.seccomp = from["seccompProfile"]["type"].as<std::string>();
}

std::string Expanded(std::string word, const std::vector<std::pair<std::string, std::string>>& env) {
  for (const auto& [name, value] : env)
    if (const std::size_t at = word.find("$(" + name + ")"); at != std::string::npos)
      word.replace(at, name.size() + 3, value);
  return word;
}

}  // namespace

void ShippedTest::SetUp() {
  DaemonNriTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_TRUE(containerd->MakeNetwork(testkit::ContainerdFixture::With::kCriAndNri)) << "tools/install_packages test";
}

void ShippedTest::Import(const std::string& image) {
  constexpr std::string_view kOurs = "localhost/berth/";
  ASSERT_TRUE(image.starts_with(kOurs)) << image;
  const std::string name = image.substr(kOurs.size(), image.find(':') - kOurs.size());
  const std::string archive = containerd->Dir("image.tar");
  const Ran made = RunProgram(
      testkit::SourcePath("tools/make_image"),
      {archive, "--" + name, fs::path(BERTH).parent_path().string(), "--tag", image.substr(image.find(':') + 1)});
  ASSERT_EQ(0, made.status) << made.err;
  containerd->Import(archive, {image});
}

std::string ShippedTest::OnHost(const std::string& path) const {
  if (path == "/var/lib/berth") return berthd->Dir("state");
  if (path == "/run/berth") return berthd->Dir("run");
  if (path == "/var/run/nri") return fs::path(containerd->nri_socket()).parent_path();
  return path;
}

/// Of a ConfigMap, as files; Berth's settings for placing get this test's root of groups.
std::string ShippedTest::Files(const YAML::Node& config_map, const std::string& uid) const {
  const std::string name = TextOf(config_map["metadata"]["name"]);
  const std::string folder = containerd->Dir("volumes/" + uid + "/" + name);
  fs::create_directories(folder);
  for (const auto& entry : config_map["data"])
    std::ofstream(folder + "/" + entry.first.as<std::string>())
        << entry.second.as<std::string>()
        << (entry.first.as<std::string>() == "placement.yaml" ? "cgroupRoot: " + containerd->cgroup_root() + "\n" : "");
  return folder;
}

/// Folders of the host by volume, as the kubelet looks at them before it makes a pod.
std::map<std::string, std::string> ShippedTest::Volumes(const Objects& objects, const ShippedPod& pod,
                                                        const std::string& uid) {
  std::map<std::string, std::string> out;
  for (const YAML::Node& volume : pod.spec["volumes"]) {
    const std::string name = TextOf(volume["name"]);
    ExpectOnly(volume, "volume " + name, {"name", "configMap", "hostPath"});
    if (volume["configMap"]) {
      ExpectOnly(volume["configMap"], "configMap of volume " + name, {"name"});
      out[name] = Files(ObjectIn(objects, "ConfigMap", TextOf(volume["configMap"]["name"])), uid);
      continue;
    }
    ExpectOnly(volume["hostPath"], "hostPath of volume " + name, {"path", "type"});
    const std::string type = TextOf(volume["hostPath"]["type"]);
    out[name] = OnHost(TextOf(volume["hostPath"]["path"]));
    if (type == "DirectoryOrCreate") fs::create_directories(out[name]);
    EXPECT_TRUE(type == "DirectoryOrCreate" || type == "Directory") << name << " is a " << type;
    EXPECT_TRUE(fs::is_directory(out[name])) << name;
  }
  return out;
}

cri::ContainerSpec ShippedTest::SpecOf(const YAML::Node& container, const ShippedPod& pod,
                                       const std::map<std::string, std::string>& volumes) const {
  const std::string name = TextOf(container["name"]);
  ExpectOnly(container, "container " + name,
             {"name", "image", "imagePullPolicy", "command", "env", "ports", "resources", "securityContext",
              "startupProbe", "readinessProbe", "livenessProbe", "volumeMounts"});
  cri::ContainerSpec out{.name = name, .image = TextOf(container["image"]), .user_image = TextOf(container["image"])};
  out.namespaces = pod.sandbox_spec.namespaces;
  out.log_path = name + ".log";
  for (const YAML::Node& variable : container["env"]) {
    std::string value = TextOf(variable["value"]);
    if (variable["valueFrom"]) {
      EXPECT_EQ("spec.nodeName", TextOf(variable["valueFrom"]["fieldRef"]["fieldPath"]));
      value = kNode;
    }
    out.env.emplace_back(TextOf(variable["name"]), value);
  }
  for (const YAML::Node& word : container["command"]) out.command.push_back(Expanded(word.as<std::string>(), out.env));
  // Of the API server, which nobody is here.
  out.env.emplace_back("KUBERNETES_SERVICE_HOST", "127.0.0.1");
  out.env.emplace_back("KUBERNETES_SERVICE_PORT", "1");
  for (const YAML::Node& mount : container["volumeMounts"]) {
    ExpectOnly(mount, "volumeMount", {"name", "mountPath", "readOnly"});
    const auto volume = volumes.find(TextOf(mount["name"]));
    EXPECT_TRUE(volume != volumes.end()) << "there is no volume " << TextOf(mount["name"]);
    if (volume == volumes.end()) continue;
    out.mounts.push_back({.container_path = TextOf(mount["mountPath"]),
                          .host_path = volume->second,
                          .read_only = IsTrue(mount["readOnly"])});
  }
  if (!pod.spec["automountServiceAccountToken"] || IsTrue(pod.spec["automountServiceAccountToken"]))
    out.mounts.push_back({.container_path = "/var/run/secrets/kubernetes.io/serviceaccount",
                          .host_path = containerd->Dir("token"),
                          .read_only = true});
  for (const char* const file : {"/etc/hosts", "/dev/termination-log"}) {
    const std::string path = containerd->Dir("volumes/" + pod.sandbox_spec.uid + fs::path(file).filename().string());
    std::ofstream(path) << "";
    out.mounts.push_back({.container_path = file, .host_path = path});
  }
  const YAML::Node resources = container["resources"];
  constexpr std::int64_t kThousand = 1000;
  out.resources.cpu_shares = std::max<std::int64_t>(2, Request(resources, "cpu") * 1024 / kThousand);
  if (const std::int64_t limit = Milli(resources, "limits", "cpu"); limit > 0) {
    out.resources.cpu_period_us = kCfsPeriod;
    out.resources.cpu_quota_us = limit * kCfsPeriod / kThousand;
  }
  out.resources.memory_limit = Milli(resources, "limits", "memory") / kThousand;
  out.resources.oom_score_adj = -997;  // critical
  EXPECT_TRUE(TextOf(pod.spec["priorityClassName"]).starts_with("system-"));
  if (pod.spec["securityContext"]) TakeSecurity(pod.spec["securityContext"], out.security);
  if (container["securityContext"]) TakeSecurity(container["securityContext"], out.security);
  if (const auto armor = pod.annotations.find("container.apparmor.security.beta.kubernetes.io/" + name);
      armor != pod.annotations.end()) {
    EXPECT_EQ("unconfined", armor->second);
    out.security.app_armor = "Unconfined";
  }
  return out;
}

std::string ShippedTest::Make(const YAML::Node& container, const ShippedPod& pod,
                              const std::map<std::string, std::string>& volumes) {
  const cri::ContainerSpec spec = SpecOf(container, pod, volumes);
  if (const auto image = client->FindImage(spec.image); image && !*image) Import(spec.image);
  const auto id = client->Create(pod.sandbox, spec, pod.sandbox_spec);
  EXPECT_TRUE(id) << id.error().message;
  if (!id) return "";
  const auto started = client->Start(*id);
  EXPECT_TRUE(started) << started.error().message;
  return *id;
}

ShippedPod ShippedTest::StartPod(const Objects& objects, const YAML::Node& object, const std::string& uid,
                                 const std::string& image) {
  ShippedPod pod;
  pod.spec = YAML::Clone(object["spec"]["template"]["spec"]);
  for (const auto& each : object["spec"]["template"]["metadata"]["annotations"])
    pod.annotations.emplace(each.first.as<std::string>(), each.second.as<std::string>());
  ExpectOnly(pod.spec, "the pod",
             {"serviceAccountName", "automountServiceAccountToken", "priorityClassName", "hostNetwork", "hostPID",
              "tolerations", "nodeSelector", "affinity", "terminationGracePeriodSeconds", "securityContext",
              "initContainers", "containers", "volumes"});
  pod.sandbox_spec = DaemonNriTest::SpecOf(uid, TierOf(pod.spec));
  pod.sandbox_spec.log_directory = containerd->Dir("logs/" + uid);
  pod.sandbox_spec.namespaces = {.host_network = IsTrue(pod.spec["hostNetwork"]),
                                 .host_pid = IsTrue(pod.spec["hostPID"])};
  for (const char* const kind : {"initContainers", "containers"})
    for (YAML::Node container : pod.spec[kind]) {
      if (!image.empty()) container["image"] = image;
      if (container["securityContext"] && IsTrue(container["securityContext"]["privileged"]))
        pod.sandbox_spec.privileged = true;
    }
  fs::create_directories(pod.sandbox_spec.log_directory);
  fs::create_directories(containerd->Dir("volumes"));
  const auto volumes = Volumes(objects, pod, uid);
  const auto sandbox = client->RunSandbox(pod.sandbox_spec);
  EXPECT_TRUE(sandbox) << sandbox.error().message;
  pod.sandbox = sandbox.value_or("");
  CloseRoot();
  for (const YAML::Node& container : pod.spec["initContainers"]) {
    const std::string id = Make(container, pod, volumes);
    pod.containers[TextOf(container["name"])] = id;
    EXPECT_TRUE(containerd->Until("an init container has ended", [&] {
      const auto status = client->Status(id);
      return status && status->state == cri::ContainerEntry::State::kExited;
    }));
    const auto status = client->Status(id);
    EXPECT_TRUE(status && status->exit_code == 0) << LogOfPod(pod);
  }
  for (const YAML::Node& container : pod.spec["containers"])
    pod.containers[TextOf(container["name"])] = Make(container, pod, volumes);
  return pod;
}

int ShippedTest::StopPod(const ShippedPod& pod) {
  const std::string id = pod.containers.at(TextOf(pod.spec["containers"][0]["name"]));
  const YAML::Node grace = pod.spec["terminationGracePeriodSeconds"];
  EXPECT_TRUE(client->Stop(id, std::chrono::seconds(grace ? grace.as<int>() : kGraceSeconds)));
  const auto status = client->Status(id);
  EXPECT_TRUE(client->StopSandbox(pod.sandbox));
  EXPECT_TRUE(client->RemoveSandbox(pod.sandbox));
  return status ? status->exit_code : -1;
}

std::string ShippedTest::Probe(const ShippedPod& pod, const std::string& probe) const {
  const YAML::Node container = pod.spec["containers"][0];
  const YAML::Node rules = container[probe];
  if (!rules) return "there is no " + probe;
  ExpectOnly(rules, probe, {"exec", "httpGet", "periodSeconds", "timeoutSeconds", "failureThreshold"});
  const int seconds = rules["timeoutSeconds"] ? rules["timeoutSeconds"].as<int>() : kProbeSeconds;
  if (rules["exec"]) {
    const auto done =
        client->Exec(pod.containers.at(TextOf(container["name"])),
                     rules["exec"]["command"].as<std::vector<std::string>>(), std::chrono::seconds(seconds));
    if (!done) return done.error().message;
    return done->exit_code == 0 ? "" : "exit status " + std::to_string(done->exit_code) + ": " + done->err;
  }
  std::string port = TextOf(rules["httpGet"]["port"]);
  for (const YAML::Node& named : container["ports"])
    if (TextOf(named["name"]) == port) port = TextOf(named["containerPort"]);
  const auto addresses = client->Addresses(pod.sandbox);
  if (!addresses || addresses->empty()) return "the pod has no address";
  const Ran ran = RunProgram(
      "curl", {"--silent", "--show-error", "--max-time", std::to_string(seconds), "--write-out", " %{http_code}",
               "http://" + addresses->front() + ":" + port + TextOf(rules["httpGet"]["path"])});
  return ran.status == 0 && (ran.out.ends_with(" 200") || ran.out.ends_with(" 204")) ? "" : ran.out + ran.err;
}

bool ShippedTest::BecomesReady(const ShippedPod& pod) {
  std::string last;
  const bool ready = containerd->Until("the pod is ready", [&] {
    for (const char* const probe : {"startupProbe", "readinessProbe"})
      if (last = Probe(pod, probe); !last.empty()) return false;
    return true;
  });
  EXPECT_TRUE(ready) << last << "\n" << LogOfPod(pod);
  return ready;
}

int ShippedTest::PidOf(const ShippedPod& pod) const {
  const auto status = client->Status(pod.containers.at(TextOf(pod.spec["containers"][0]["name"])));
  return status ? status->pid : 0;
}

std::string ShippedTest::LogOfPod(const ShippedPod& pod) const {
  std::string out;
  for (const auto& [name, id] : pod.containers)
    out += testkit::ReadIfThere(pod.sandbox_spec.log_directory + "/" + name + ".log");
  return out;
}

}  // namespace berth
