// Fields of a manifest about namespaces, profiles, handlers and names, each with what comes of it in the kernel or in
// the runtime; and those that this node cannot have, with the reason.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "cri.pb.h"
#include "cri_node.h"
#include "rpc/grpc/grpc_client.h"
#include "rpc/grpc/transport.h"
#include "runtime/cri/cri_client.h"
#include "testing/seen_groups.h"

namespace berth::testkit {
namespace {

namespace fs = std::filesystem;

class DaemonCriIsolationTest : public CriNodeTest {
 protected:
  std::string NamespaceOf(const std::string& container, const std::string& kind) {
    std::error_code error;
    return fs::read_symlink("/proc/" + std::to_string(berthd->Pids()[container]) + "/ns/" + kind, error).string();
  }
  static std::string OwnNamespace(const std::string& kind) {
    std::error_code error;
    return fs::read_symlink("/proc/self/ns/" + kind, error).string();
  }
  /// Waits for a pod that tells what it sees and ends with "done".
  std::string Words(const std::string& pod) {
    EXPECT_TRUE(berthd->Until(pod + " has told", [&] { return WordsOf(pod).find("done\n") != std::string::npos; }));
    return WordsOf(pod);
  }
  static bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
  bool Rejected(const std::string& pod, const std::string& reason) {
    const codec::Json found = berthd->PodNamed(pod);
    return found.is_object() && found["reason"] == reason;
  }
  /// The bytes of an answer of the runtime to a question without words.
  std::string Asked(const std::string& method) const {
    grpc::Client client(grpc::UnixConnector(containerd->socket()), "containerd");
    const auto answer = client.Call("/runtime.v1.RuntimeService/" + method, "",
                                    {.deadline = os::SystemClock().Now() + std::chrono::seconds(60)});
    EXPECT_TRUE(answer) << answer.error().message;
    return answer.value_or("");
  }
  void RemoveAll(std::initializer_list<const char*> pods) {
    for (const char* const pod : pods) Remove(pod);
    ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
    ExpectNothingLeft();
  }
};

constexpr const char* kSecond =
    "  - {name: side, image: \"localhost/berth/busybox:1\", command: [/bin/sh, -c, \"trap 'exit 0' TERM; sleep 1000 & "
    "wait\"]}\n";

TEST_F(DaemonCriIsolationTest, PodsAreInTheNamespacesThatTheyAskFor) {
  Start();
  Add({.name = "own", .container = kSecond});
  Add({.name = "shared", .spec = "  shareProcessNamespace: true\n", .container = kSecond});
  Add({.name = "host", .spec = "  hostPID: true\n  hostIPC: true\n"});
  for (const char* const pod : {"own", "shared", "host"})
    ASSERT_TRUE(berthd->Until(std::string(pod) + " runs", [&] { return berthd->Runs(pod); }));
  ASSERT_TRUE(berthd->Until("all containers run", [&] { return berthd->Pids().size() == 5; }));
  EXPECT_NE(NamespaceOf("own-n1/app", "pid"), NamespaceOf("own-n1/side", "pid"));
  EXPECT_EQ(NamespaceOf("own-n1/app", "ipc"), NamespaceOf("own-n1/side", "ipc"));
  EXPECT_NE(OwnNamespace("ipc"), NamespaceOf("own-n1/app", "ipc"));
  EXPECT_NE(OwnNamespace("pid"), NamespaceOf("own-n1/app", "pid"));
  EXPECT_EQ(NamespaceOf("shared-n1/app", "pid"), NamespaceOf("shared-n1/side", "pid"));
  EXPECT_NE(OwnNamespace("pid"), NamespaceOf("shared-n1/app", "pid"));
  EXPECT_EQ(OwnNamespace("pid"), NamespaceOf("host-n1/app", "pid"));
  EXPECT_EQ(OwnNamespace("ipc"), NamespaceOf("host-n1/app", "ipc"));
  EXPECT_EQ(OwnNamespace("net"), NamespaceOf("host-n1/app", "net"));
  RemoveAll({"own", "shared", "host"});
}

TEST_F(DaemonCriIsolationTest, ARuntimeClassLeadsToItsHandler) {
  settings = "runtimeClasses: {bare: bare, broken: no-such-handler}\n";
  Start();
  const auto add = [&](const std::string& name, const std::string& spec) {
    Add({.name = name,
         .script = "test -e /dev/kmsg && echo devices; echo done",
         .spec = "  restartPolicy: Never\n" + spec,
         .container = "    securityContext: {privileged: true}\n"});
  };
  add("usual", "");
  add("bare", "  runtimeClassName: bare\n");
  add("broken", "  runtimeClassName: broken\n");
  add("unknown", "  runtimeClassName: unknown\n");
  EXPECT_EQ("devices\ndone\n", Words("usual"));
  EXPECT_EQ("done\n", Words("bare")) << "this handler gives no devices of the host";
  EXPECT_TRUE(berthd->Until("the runtime's words are told",
                            [&] { return berthd->CountEvents("FailedCreatePodSandBox", "no-such-handler") > 0; }));
  EXPECT_TRUE(berthd->Until("it is rejected", [&] { return Rejected("unknown", "RuntimeClassUnknown"); }));
  RemoveAll({"usual", "bare", "broken", "unknown"});
}

TEST_F(DaemonCriIsolationTest, ASeccompProfileOfTheNodeIsInForce) {
  fs::create_directories(berthd->Dir("seccomp"));
  std::ofstream(berthd->Dir("seccomp/no-folders.json"))
      << R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["mkdir", "mkdirat"], "action":
          "SCMP_ACT_ERRNO"}]})";
  settings = "seccompDir: " + berthd->Dir("seccomp") + "\n";
  Start();
  const std::string script = "mkdir /made && echo made; grep Seccomp: /proc/self/status; echo done";
  const std::string never = "  restartPolicy: Never\n";
  Add({.name = "free", .script = script, .spec = never});
  Add({.name = "bound",
       .script = script,
       .spec = never,
       .container = "    securityContext: {seccompProfile: {type: Localhost, localhostProfile: no-folders.json}}\n"});
  Add({.name = "missing",
       .script = script,
       .spec = never,
       .container = "    securityContext: {seccompProfile: {type: Localhost, localhostProfile: none.json}}\n"});
  EXPECT_TRUE(Has(Words("free"), "made\n"));
  const std::string bound = Words("bound");
  EXPECT_FALSE(Has(bound, "made\n")) << bound;
  EXPECT_TRUE(Has(bound, "Seccomp:\t2")) << bound;
  EXPECT_TRUE(
      berthd->Until("it is told", [&] { return berthd->CountEvents("CreateContainerError", "none.json") > 0; }));
  RemoveAll({"free", "bound", "missing"});
}

/// A folder of the host with something mounted below it.
class MountBelow {
 public:
  explicit MountBelow(const std::string& folder) : below_(folder + "/below") {
    fs::create_directories(below_);
    if (::mount("berth-test", below_.c_str(), "tmpfs", 0, "size=1m") != 0) ADD_FAILURE() << "cannot mount a tmpfs";
  }
  ~MountBelow() { ::umount2(below_.c_str(), MNT_DETACH); }
  MountBelow(const MountBelow&) = delete;
  MountBelow& operator=(const MountBelow&) = delete;

 private:
  std::string below_;
};

TEST_F(DaemonCriIsolationTest, MountsBelowAMountAreReadOnlyOrThePodIsToldThatTheyCannotBe) {
  const TempDir folder;
  const MountBelow below(folder / "data");
  const auto status = cri::Client(containerd->socket()).AskStatus();
  ASSERT_TRUE(status) << status.error().message;
  const bool can = status->features.recursive_read_only.contains("");
  std::cout << "this runtime " << (can ? "can" : "cannot") << " make mounts recursively read-only\n";
  Start();
  for (const char* const how : {"Enabled", "IfPossible"})
    Add({.name = std::string(how) == "Enabled" ? "enabled" : "possible",
         .script = "touch /data/file && echo writable; touch /data/below/file && echo writable below; echo done",
         .spec = "  restartPolicy: Never\n  volumes: [{name: data, hostPath: {path: " + (folder / "data") + "}}]\n",
         .container = "    volumeMounts: [{name: data, mountPath: /data, readOnly: true, recursiveReadOnly: " +
                      std::string(how) + "}]\n"});
  const std::string possible = Words("possible");
  EXPECT_FALSE(Has(possible, "writable\n")) << possible;
  EXPECT_EQ(!can, Has(possible, "writable below\n")) << possible;
  if (can) {
    EXPECT_FALSE(Has(Words("enabled"), "writable"));
  } else {
    EXPECT_TRUE(berthd->Until("it is rejected", [&] { return Rejected("enabled", "RecursiveReadOnlyNotSupported"); }));
    EXPECT_EQ("", WordsOf("enabled"));
  }
  RemoveAll({"enabled", "possible"});
}

TEST_F(DaemonCriIsolationTest, AContainerHasAnInputOnlyIfItAsksForOne) {
  Start();
  Add({.name = "deaf", .script = "cat; echo done", .spec = "  restartPolicy: Never\n"});
  Add({.name = "listens", .script = "cat; echo done", .container = "    stdin: true\n"});
  EXPECT_EQ("done\n", Words("deaf"));
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("listens"); }));
  const std::string input = "/proc/" + std::to_string(berthd->Pids()["listens-n1/app"]) + "/fd/0";
  EXPECT_TRUE(fs::is_fifo(input)) << fs::read_symlink(input);
  EXPECT_EQ("", WordsOf("listens")) << "it waits for somebody to say something";
  RemoveAll({"deaf", "listens"});
}

TEST_F(DaemonCriIsolationTest, WhatThisNodeDoesNotHaveIsAReasonToRejectAPod) {
  Start();
  const auto has = [&](const std::string& security) { return "    securityContext: {" + security + "}\n"; };
  Add({.name = "armor", .container = has("appArmorProfile: {type: RuntimeDefault}")});
  Add({.name = "label", .container = has("seLinuxOptions: {level: \"s0:c1,c2\"}")});
  Add({.name = "sysctl", .spec = "  securityContext: {sysctls: [{name: kernel.sem, value: \"1 2 3 4\"}]}\n"});
  const auto outcome = [&](const char* pod, bool node_has, const char* reason) {
    EXPECT_TRUE(berthd->Until(std::string(pod) + " is decided",
                              [&] { return node_has ? berthd->Runs(pod) : Rejected(pod, reason); }));
  };
  if (!fs::exists("/sys/module/apparmor")) outcome("armor", false, "AppArmor");
  outcome("label", true, "");  // without SELinux the runtime ignores it
  outcome("sysctl", false, "SysctlForbidden");
  RemoveAll({"armor", "label", "sysctl"});
}

TEST_F(DaemonCriIsolationTest, NamesAreLookedUpWhereThePolicySays) {
  berthd->Configure("clusterDNS: [198.18.0.10]\nclusterDomain: cluster.test\n");
  Start();
  const std::string script = "cat /etc/resolv.conf; echo done";
  Add({.name = "cluster", .script = script, .spec = "  restartPolicy: Never\n  dnsPolicy: ClusterFirstWithHostNet\n"});
  Add({.name = "node", .script = script, .spec = "  restartPolicy: Never\n  dnsPolicy: Default\n"});
  const std::string cluster = Words("cluster");
  EXPECT_TRUE(Has(cluster, "nameserver 198.18.0.10\n")) << cluster;
  EXPECT_TRUE(Has(cluster, "search default.svc.cluster.test svc.cluster.test cluster.test")) << cluster;
  EXPECT_TRUE(Has(cluster, "options ndots:5")) << cluster;
  EXPECT_FALSE(Has(Words("node"), "198.18.0.10"));
  RemoveAll({"cluster", "node"});
}

/// A plug-in that writes down what the runtime told it: a port is led to a pod by one that does something with that.
constexpr const char* kRecorder = R"(#!/usr/bin/env python3
import json, os, sys
config = json.load(sys.stdin)
if os.environ["CNI_COMMAND"] == "ADD":
    open(config["file"], "a").write(json.dumps(config["runtimeConfig"]))
    print(json.dumps(config["prevResult"]))
)";

TEST_F(DaemonCriIsolationTest, TheNetworksPlugInsAreToldOfAPortOfTheNodeThatNoOtherPodGets) {
  const std::string told = containerd->Dir("ports");
  if (!MakeNetwork(R"(, {"type": "recorder", "capabilities": {"portMappings": true}, "file": ")" + told + "\"}"))
    GTEST_SKIP() << "needs CNI plug-ins: tools/install_packages test";
  std::ofstream(containerd->Dir("cni/bin/recorder")) << kRecorder;
  ASSERT_EQ(0, ::chmod(containerd->Dir("cni/bin/recorder").c_str(), 0755));
  Start();
  const auto ports = [](const std::string& more) {
    return "    ports: [{containerPort: 8080, hostPort: 18080, hostIP: 127.0.0.2" + more + "}]\n";
  };
  Add({.name = "first", .container = ports(""), .host_network = false});
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("first"); }));
  const std::string text = ReadIfThere(told);
  for (const char* const part : {"18080", "8080", "127.0.0.2", "tcp"}) EXPECT_TRUE(Has(text, part)) << text;
  Add({.name = "second", .container = ports(""), .host_network = false});
  EXPECT_TRUE(berthd->Until("it is rejected", [&] { return Rejected("second", "NodePorts"); }));
  Add({.name = "third", .container = ports(", protocol: UDP"), .host_network = false});
  EXPECT_TRUE(berthd->Until("another protocol is another port", [&] { return berthd->Runs("third"); }));
  RemoveAll({"first", "second", "third"});
}

TEST_F(DaemonCriIsolationTest, ThePlugInThatReadsAnnotationsIsToldWhichNetworksAPodAsksFor) {
  const std::string told = containerd->Dir("annotations");
  if (!MakeNetwork(R"(, {"type": "recorder", "capabilities": {"io.kubernetes.cri.pod-annotations": true}, "file": ")" +
                   told + "\"}"))
    GTEST_SKIP() << "needs CNI plug-ins: tools/install_packages test";
  std::ofstream(containerd->Dir("cni/bin/recorder")) << kRecorder;
  ASSERT_EQ(0, ::chmod(containerd->Dir("cni/bin/recorder").c_str(), 0755));
  Start();
  std::string yaml = Yaml({.name = "two", .host_network = false});
  const std::string metadata = "metadata: {name: two";
  yaml.replace(yaml.find(metadata), metadata.size(),
               metadata + ", annotations: {k8s.v1.cni.cncf.io/networks: storage-net}");
  berthd->AddPod("two.yaml", yaml);
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("two"); }));
  const std::string text = ReadIfThere(told);
  EXPECT_TRUE(Has(text, "k8s.v1.cni.cncf.io/networks") && Has(text, "storage-net")) << text;
  EXPECT_FALSE(Has(berthd->Get("/v1/events").dump(), "k8s.v1.cni.cncf.io/networks")) << "nothing is amiss";
  RemoveAll({"two"});
}

TEST_F(DaemonCriIsolationTest, TheRuntimeHasWhatOthersReadOfAPod) {
  PutRelayBetween();
  Start();
  std::string yaml = Yaml({.name = "web", .cpu = "500m", .spec = "  overhead: {cpu: 250m, memory: 16Mi}\n"});
  const std::string metadata = "metadata: {name: web";
  yaml.replace(yaml.find(metadata), metadata.size(),
               metadata + ", labels: {tier: front-end}, annotations: {note.test/of: somebody}");
  berthd->AddPod("web.yaml", yaml);
  ASSERT_TRUE(berthd->Until("it runs", [&] { return berthd->Runs("web"); }));
  const std::string sandboxes = Asked("ListPodSandbox");
  for (const char* const part : {"tier", "front-end", "note.test/of", "somebody", "kubernetes.io/config.source",
                                 "io.kubernetes.pod.name", "io.kubernetes.pod.uid"})
    EXPECT_TRUE(Has(sandboxes, part)) << part;
  const std::string containers = Asked("ListContainers");
  for (const char* const part :
       {"io.kubernetes.container.hash", "io.kubernetes.container.restartCount",
        "io.kubernetes.container.terminationMessagePath", "io.kubernetes.pod.terminationGracePeriod"})
    EXPECT_TRUE(Has(containers, part)) << part;
  const std::vector<RelayedCall> calls = relay->Calls();
  const auto run = std::ranges::find(calls, "RunPodSandbox", &RelayedCall::method);
  ASSERT_NE(calls.end(), run);
  ::runtime::v1::RunPodSandboxRequest sandbox;
  ASSERT_TRUE(sandbox.ParseFromString(run->request));
  const auto& overhead = sandbox.config().linux().overhead();
  EXPECT_TRUE(overhead.cpu_shares() == 256 && overhead.cpu_quota() == 25'000) << overhead.DebugString();
  EXPECT_EQ(16 << 20, overhead.memory_limit_in_bytes());
  const auto& resources = sandbox.config().linux().resources();
  EXPECT_TRUE(resources.cpu_shares() == 512 && resources.cpu_quota() == 50'000) << resources.DebugString();
  EXPECT_EQ(32 << 20, resources.memory_limit_in_bytes()) << "without the overhead";
  const auto create = std::ranges::find(calls, "CreateContainer", &RelayedCall::method);
  ASSERT_NE(calls.end(), create);
  EXPECT_TRUE(Has(create->request, kTestImage)) << "as the manifest names it: containerd from 2.0 on keeps it";
  const std::string id = berthd->PodNamed("web")["containers"][0]["id"];
  const fs::path link = berthd->Dir("log") + "/containers/web-n1_default_app-" + id + ".log";
  EXPECT_EQ(std::string(berthd->PodNamed("web")["containers"][0]["logPath"]), fs::read_symlink(link));
  RemoveAll({"web"});
}

TEST_F(DaemonCriIsolationTest, AProbeReachesAPodInANetworkOfItsOwn) {
  if (!MakeNetwork()) GTEST_SKIP() << "needs CNI plug-ins: tools/install_packages test";
  Start();
  const auto ready = [&](const char* pod) {
    const codec::Json found = berthd->PodNamed(pod);
    return found.is_object() && found["ready"] == true;
  };
  const auto container = [](const char* probe) {
    return "    ports: [{name: web, containerPort: 8080}]\n    readinessProbe: {" + std::string(probe) +
           ", periodSeconds: 1, timeoutSeconds: 10}\n";
  };
  const std::string server = "echo well > /tmp/health; exec httpd -f -p 8080 -h /tmp";
  Add({.name = "http",
       .script = server,
       .container = container("httpGet: {port: web, path: /health}"),
       .host_network = false});
  Add({.name = "tcp", .script = server, .container = container("tcpSocket: {port: 8080}"), .host_network = false});
  Add({.name = "wrong", .script = server, .container = container("httpGet: {port: web}"), .host_network = false});
  ASSERT_TRUE(berthd->Until("both are ready", [&] { return ready("http") && ready("tcp"); }));
  ASSERT_TRUE(berthd->Until("the third's server said no",
                            [&] { return berthd->CountEvents("Unhealthy", "statuscode: 404") > 0; }));
  EXPECT_FALSE(ready("wrong"));
  RemoveAll({"http", "tcp", "wrong"});
}

}  // namespace
}  // namespace berth::testkit
