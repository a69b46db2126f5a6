// Volumes and variables of documents, and volumes with a file system of their own, as processes of this host see them.
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "daemon_fixture.h"
#include "more_huge_pages.h"

namespace berth::testkit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSecretWord = "hunter2-of-the-test";
constexpr const char* kApp =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {color: blue, size: big}\nbinaryData: {logo: "
    "AAE=}\n";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct DaemonVolumeTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
  }
  /// `container`: more lines of it, indented by 4; `spec`: of the pod, by 2.
  void Add(const std::string& name, const std::string& spec, const std::string& container,
           const std::string& script = "trap 'exit 0' TERM; sleep 1000 & wait") {
    node.AddPod(name + ".yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                                    ", labels: {tier: front}}\nspec:\n  terminationGracePeriodSeconds: 1\n" + spec +
                                    "  containers:\n  - name: app\n    command: [/bin/sh, -c]\n    args: [\"" + script +
                                    "\"]\n" + container);
  }
  void AddSecret() {
    node.AddPod("secret.yaml", std::string("apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {pw: ") +
                                   kSecretWord + "}\n");
  }
  int PidOf(const std::string& pod) {
    for (const auto& [name, pid] : node.Pids())
      if (name.starts_with(pod)) return pid;
    return 0;
  }
  /// A path as the pod's container sees it.
  std::string In(const std::string& pod, const std::string& path) {
    return "/proc/" + std::to_string(PidOf(pod)) + "/root" + path;
  }
  std::string Environment(const std::string& pod) {
    std::string out = ReadAll("/proc/" + std::to_string(PidOf(pod)) + "/environ");
    std::ranges::replace(out, '\0', '\n');
    return "\n" + out;
  }
  bool Runs(const std::string& pod) {
    return node.Until(pod + " runs", [&] { return node.Runs(pod) && PidOf(pod) != 0; });
  }
  bool Has(const std::string& pod, const std::string& variable) {
    return Environment(pod).find("\n" + variable + "\n") != std::string::npos;
  }
  std::string Reason(const std::string& pod) {
    const codec::Json found = node.PodNamed(pod);
    return found.is_object() ? found["containers"][0]["reason"].get<std::string>() : "";
  }
  void ExpectNothingLeft() {
    for (const auto& file : fs::directory_iterator(node.Dir("pods"))) fs::remove(file.path());
    EXPECT_TRUE(node.Until("nothing is left", [&] { return node.Leftovers().empty(); }));
    EXPECT_EQ(ReadAll("/proc/self/mountinfo").find(node.Dir("")), std::string::npos);
  }

  DaemonFixture node;
};

constexpr const char* kFilesOfAll = R"(  securityContext: {fsGroup: 4711}
  volumes:
  - {name: conf, configMap: {name: app, items: [{key: color, path: sub/color, mode: 0640}, {key: logo, path: logo}]}}
  - {name: key, secret: {secretName: key, defaultMode: 0400}}
  - name: about
    downwardAPI:
      items:
      - {path: labels, fieldRef: {fieldPath: metadata.labels}}
      - {path: cpu, resourceFieldRef: {containerName: app, resource: limits.cpu, divisor: 1m}}
  - name: all
    projected:
      defaultMode: 0444
      sources: [{configMap: {name: app}}, {secret: {name: key}}, {configMap: {name: none, optional: true}}]
)";
constexpr const char* kMountsOfAll = R"(    resources: {limits: {cpu: 250m, memory: 64Mi}}
    envFrom: [{prefix: APP_, configMapRef: {name: app}}]
    env:
    - {name: PW, valueFrom: {secretKeyRef: {name: key, key: pw}}}
    - {name: NONE, valueFrom: {configMapKeyRef: {name: none, key: x, optional: true}}}
    - {name: MEM, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
    - {name: FILE, value: size}
    - {name: DISK, valueFrom: {resourceFieldRef: {resource: requests.ephemeral-storage}}}
    volumeMounts:
    - {name: conf, mountPath: /mnt/conf}
    - {name: key, mountPath: /mnt/key}
    - {name: about, mountPath: /mnt/about}
    - {name: all, mountPath: /mnt/all}
    - {name: all, mountPath: /mnt/one, subPathExpr: $(FILE)}
)";

TEST_F(DaemonVolumeTest, DocumentsAreVariablesAndFilesAndNothingOfASecretIsSeenElsewhere) {
  node.Start();
  node.AddPod("app.yaml", kApp);
  AddSecret();
  Add("web", kFilesOfAll, kMountsOfAll);
  ASSERT_TRUE(Runs("web"));
  EXPECT_TRUE(Has("web", "APP_color=blue") && Has("web", "APP_size=big") && Has("web", "MEM=67108864") &&
              Has("web", std::string("PW=") + kSecretWord) && Has("web", "DISK=0"));
  EXPECT_EQ(Environment("web").find("NONE="), std::string::npos);
  EXPECT_EQ(ReadAll(In("web", "/mnt/conf/sub/color")), "blue");
  EXPECT_EQ(ReadAll(In("web", "/mnt/conf/logo")), std::string("\0\1", 2));
  EXPECT_EQ(ReadAll(In("web", "/mnt/key/pw")), kSecretWord);
  EXPECT_EQ(ReadAll(In("web", "/mnt/about/labels")), "tier=\"front\"");
  EXPECT_EQ(ReadAll(In("web", "/mnt/about/cpu")), "250");
  EXPECT_EQ(ReadAll(In("web", "/mnt/all/pw")), kSecretWord);
  EXPECT_EQ(ReadAll(In("web", "/mnt/one")), "big");
  struct stat is{};
  ASSERT_EQ(::stat(In("web", "/mnt/key/pw").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 07777, 0440U) << "its fsGroup may read it";
  EXPECT_EQ(is.st_gid, 4711U);
  EXPECT_EQ(is.st_uid, 0U);
  struct statfs where{};
  ASSERT_EQ(::statfs(In("web", "/mnt/key").c_str(), &where), 0);
  EXPECT_EQ(where.f_type, TMPFS_MAGIC);
  const std::string uid = node.PodNamed("web")["uid"].get<std::string>();
  ASSERT_EQ(::stat((node.Dir("run") + "/volumes/" + uid).c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0700U) << "for root only";
  for (const char* path : {"/v1/pods", "/v1/events", "/v1/ledger", "/v1/status", "/v1/tree"})
    EXPECT_EQ(node.Get(path).dump().find(kSecretWord), std::string::npos) << path;
  EXPECT_EQ(node.output().find(kSecretWord), std::string::npos);
  for (const auto& file : fs::recursive_directory_iterator(node.state_dir)) {
    if (!file.is_regular_file()) continue;
    EXPECT_EQ(ReadAll(file.path()).find(kSecretWord), std::string::npos) << file.path();
  }
  ExpectNothingLeft();
}

TEST_F(DaemonVolumeTest, AChangedDocumentIsSeenInARunningPodAndAfterARestartOfBerthd) {
  node.Start();
  node.AddPod("app.yaml", kApp);
  Add("web", "  volumes: [{name: v, configMap: {name: app}}]\n", "    volumeMounts: [{name: v, mountPath: /mnt/v}]\n");
  ASSERT_TRUE(Runs("web"));
  const int pid = PidOf("web");
  const std::string color = In("web", "/mnt/v/color");
  EXPECT_EQ(ReadAll(color), "blue");
  node.AddPod("app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {color: red}\n");
  EXPECT_TRUE(node.Until("red is seen", [&] { return ReadAll(color) == "red"; }));
  EXPECT_TRUE(node.Until("the other key is gone",  // its name goes last
                         [&] { return !fs::exists(fs::symlink_status(In("web", "/mnt/v/size"))); }));
  node.Kill();
  node.AddPod("app.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {color: green}\n");
  node.Start();
  EXPECT_TRUE(node.Until("green is seen", [&] { return ReadAll(color) == "green"; }));
  EXPECT_EQ(PidOf("web"), pid) << "the pod ran on";
  node.RemovePod("app.yaml");
  EXPECT_TRUE(
      node.Until("it is said", [&] { return node.CountEvents("FailedMount", "configmap \"app\" not found") > 0; }));
  EXPECT_EQ(ReadAll(color), "green") << "a volume keeps what it has";
  ExpectNothingLeft();
}

TEST_F(DaemonVolumeTest, AContainerWaitsForWhatIsMissingAndStartsWhenItComes) {
  node.Start();
  Add("env", "", "    env: [{name: PW, valueFrom: {secretKeyRef: {name: key, key: pw}}}]\n");
  Add("file", "  volumes: [{name: v, secret: {secretName: key}}]\n",
      "    volumeMounts: [{name: v, mountPath: /mnt/v}]\n");
  for (const char* pod : {"env", "file"})
    EXPECT_TRUE(node.Until("it waits", [&] { return Reason(pod) == "CreateContainerConfigError"; }));
  EXPECT_GT(node.CountEvents("FailedCreatePodContainer", "secret \"key\" not found"), 0);
  AddSecret();
  EXPECT_TRUE(Runs("env") && Runs("file"));
  EXPECT_TRUE(Has("env", std::string("PW=") + kSecretWord));
  EXPECT_EQ(ReadAll(In("file", "/mnt/v/pw")), kSecretWord);
  ExpectNothingLeft();
}

TEST_F(DaemonVolumeTest, AVolumeOfMemoryHasItsSizeAndIsPaidByThePod) {
  node.Start();
  Add("ram",
      "  volumes: [{name: small, emptyDir: {medium: Memory, sizeLimit: 2Mi}}, {name: rest, emptyDir: {medium: "
      "Memory}}]\n",
      "    resources: {limits: {memory: 64Mi}}\n"
      "    volumeMounts: [{name: small, mountPath: /mnt/small}, {name: rest, mountPath: /mnt/rest}]\n",
      "dd if=/dev/zero of=/mnt/small/f bs=1M count=3; echo $? > /mnt/small/../rest/status; dd if=/dev/zero "
      "of=/mnt/rest/f bs=1M count=16; touch /mnt/rest/done; sleep 1000");
  ASSERT_TRUE(Runs("ram"));
  ASSERT_TRUE(node.Until("it has written", [&] { return fs::exists(In("ram", "/mnt/rest/done")); }));
  EXPECT_EQ(ReadAll(In("ram", "/mnt/rest/status")), "1\n") << "three MiB do not go into two";
  struct statfs size{};
  ASSERT_EQ(::statfs(In("ram", "/mnt/small").c_str(), &size), 0);
  EXPECT_EQ(size.f_type, TMPFS_MAGIC);
  EXPECT_EQ(static_cast<std::int64_t>(size.f_blocks) * size.f_bsize, 2 << 20);
  ASSERT_EQ(::statfs(In("ram", "/mnt/rest").c_str(), &size), 0);
  EXPECT_EQ(static_cast<std::int64_t>(size.f_blocks) * size.f_bsize, 64 << 20) << "the pod's limit";
  const std::string uid = node.PodNamed("ram")["uid"].get<std::string>();
  const auto shared = [&] {
    std::int64_t out = 0;
    for (const std::string& group : node.Groups())
      if (group.ends_with("pod" + uid) || group.find(uid) != std::string::npos) {
        std::ifstream stat(group + "/memory.stat");
        std::int64_t value = 0;
        for (std::string key; stat >> key >> value;)
          if (key == "shmem") out = std::max(out, value);
      }
    return out;
  };
  EXPECT_TRUE(node.Until("18 MiB are its own",  // the kernel adds up what CPUs have counted now and then
                         [&] { return shared() >= 17 << 20; }))
      << shared();
  ExpectNothingLeft();
}

TEST_F(DaemonVolumeTest, APodWhoseVolumeIsTooFullIsEvicted) {
  node.Configure("cpuManagerReconcilePeriod: 1s\n");
  node.Start();
  Add("full", "  volumes: [{name: v, emptyDir: {sizeLimit: 1Mi}}]\n",
      "    volumeMounts: [{name: v, mountPath: /mnt/v}]\n", "dd if=/dev/zero of=/mnt/v/f bs=1M count=3; sleep 1000");
  Add("fits", "  volumes: [{name: v, emptyDir: {sizeLimit: 8Mi}}]\n",
      "    volumeMounts: [{name: v, mountPath: /mnt/v}]\n", "dd if=/dev/zero of=/mnt/v/f bs=1M count=3; sleep 1000");
  EXPECT_TRUE(node.Until("it is evicted", [&] {
    return node.CountEvents("Evicted", "Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\".") > 0;
  }));
  EXPECT_TRUE(node.Until("it has ended", [&] {
    const codec::Json pod = node.PodNamed("full");
    return pod.is_object() && pod["reason"] == "Evicted" && PidOf("full") == 0;
  }));
  EXPECT_TRUE(node.Until("the other runs", [&] { return node.Runs("fits"); }));
  EXPECT_EQ(node.CountEvents("Evicted", "exceeds the limit \"8Mi\""), 0);
  ExpectNothingLeft();
}

TEST_F(DaemonVolumeTest, AVolumeOfHugePagesIsSizedAndItsPagesAreFreeAfterThePod) {
  const MoreHugePages pages;
  if (!pages.there()) GTEST_SKIP() << MoreHugePages::kWhyNot;
  node.Start();
  Add("dpdk", "  volumes: [{name: v, emptyDir: {medium: HugePages}}]\n",
      "    resources: {limits: {cpu: 100m, memory: 32Mi, hugepages-2Mi: 4Mi}}\n"
      "    volumeMounts: [{name: v, mountPath: /mnt/v}]\n",
      "truncate -s 2M /mnt/v/f && fallocate -l 2M /mnt/v/f && touch /mnt/v/done; sleep 1000");
  ASSERT_TRUE(Runs("dpdk"));
  ASSERT_TRUE(node.Until("it has a page", [&] { return fs::exists(In("dpdk", "/mnt/v/done")); }));
  struct statfs is{};
  ASSERT_EQ(::statfs(In("dpdk", "/mnt/v").c_str(), &is), 0);
  EXPECT_EQ(is.f_type, HUGETLBFS_MAGIC);
  EXPECT_EQ(is.f_bsize, 2 << 20);
  EXPECT_EQ(is.f_blocks, 2U) << "4 MiB";
  const int while_it_runs = MoreHugePages::Free();
  ExpectNothingLeft();
  EXPECT_TRUE(node.Until("its page is free", [&] { return MoreHugePages::Free() == while_it_runs + 1; }));
}

}  // namespace
}  // namespace berth::testkit
