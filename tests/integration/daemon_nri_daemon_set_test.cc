// packaging/kubernetes as a kubelet would start it, without a cluster: programs, arguments, settings and mounts are
// those that its files say, on a read-only root of the image that tools/make_image makes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "codec/codec.h"
#include "daemon_nri_fixture.h"
#include "process.h"
#include "testing/fixtures.h"
#include "testing/seen_groups.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

YAML::Node Base() { return YAML::LoadFile(testkit::SourcePath("packaging/kubernetes/base/daemonset.yaml")); }

codec::Json ToJson(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  codec::Json out = node.IsMap() ? codec::Json::object() : codec::Json::array();
  for (const auto& part : node)
    if (node.IsMap())
      out[part.first.Scalar()] = ToJson(part.second);
    else
      out.push_back(ToJson(part));
  return out;
}

/// The base as `uninstall` and the chart's hook patch it, with texts in place of numbers.
YAML::Node GiveBack() {
  const std::string patch = testkit::ReadText(testkit::SourcePath("packaging/kubernetes/chart/give-back.json"));
  return YAML::Load(ToJson(Base()).patch(*codec::ParseJson(patch, "give-back.json")).dump());
}

std::vector<std::string> WordsOf(const YAML::Node& list) { return list.as<std::vector<std::string>>(); }

struct DaemonNriDaemonSetTest : DaemonNriTest {
  void SetUp() override {
    DaemonNriTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    MakeImage();
    for (const char* const folder : {"run", "state", "settings"}) fs::create_directories(berthd->Dir(folder));
  }
  void TearDown() override {
    Finish(SIGKILL);
    DaemonNriTest::TearDown();
  }

  /// The files of the image's only layer.
  void MakeImage() {
    const std::string oci = berthd->Dir("oci");
    for (const char* const folder : {"oci", "root"}) fs::create_directory(berthd->Dir(folder));
    Do(testkit::SourcePath("tools/make_image"), {oci + ".tar", "--node", fs::path(BERTH).parent_path().string()});
    Do("tar", {"-xf", oci + ".tar", "-C", oci});
    const auto blob = [&](const codec::Json& described) {
      const std::string digest = described["digest"];
      return oci + "/blobs/sha256/" + digest.substr(digest.find(':') + 1);
    };
    const auto read = [](const std::string& file) { return *codec::ParseJson(testkit::ReadText(file), file); };
    const codec::Json manifest = read(blob(read(oci + "/index.json")["manifests"][0]));
    Do("tar", {"-xf", blob(manifest["layers"][0]), "-C", berthd->Dir("root")});
    for (const fs::directory_entry& file : fs::recursive_directory_iterator(berthd->Dir("root")))
      EXPECT_FALSE(file.path().filename().string().starts_with("libicu"))
          << "half of the image, for tar files: " << file;
  }
  static void Do(const std::string& program, const std::vector<std::string>& arguments) {
    const Ran ran = RunProgram(program, arguments);
    ASSERT_EQ(0, ran.status) << program << ran.out << ran.err;
  }

  /// Where this test has what the node has at `path`.
  std::string OnHost(const std::string& path) const {
    if (path == "/var/lib/berth") return berthd->Dir("state");
    if (path == "/run/berth") return berthd->Dir("run");
    if (path == "/var/run/nri") return fs::path(containerd->nri_socket()).parent_path();
    return path;
  }
  /// Files of the base's ConfigMap, with a root for groups that is this test's.
  std::string Settings(const std::string& config_map) const {
    const std::string base = testkit::SourcePath("packaging/kubernetes/base/");
    const YAML::Node made = YAML::LoadFile(base + "kustomization.yaml")["configMapGenerator"][0];
    EXPECT_EQ(config_map, made["name"].as<std::string>());
    for (const std::string& name : WordsOf(made["files"]))
      std::ofstream(berthd->Dir("settings/" + name))
          << testkit::ReadText(base + name)
          << (name == "placement.yaml" ? "cgroupRoot: " + containerd->cgroup_root() + "\n" : "");
    return berthd->Dir("settings");
  }
  /// What a runtime does for a DaemonSet's first container (kind: containers, initContainers), as a shell does it; ends
  /// in its program.
  std::string Script(const YAML::Node& daemon_set, const std::string& kind) const {
    const YAML::Node pod = daemon_set["spec"]["template"]["spec"];
    const YAML::Node container = pod[kind][0];
    EXPECT_TRUE(pod["hostPID"].as<bool>());
    const std::string root = berthd->Dir("root");
    std::string out = "mount --bind " + root + " " + root + "\nmkdir -p " + root + "/proc " + root + "/sys " + root +
                      "/dev\nfor of in proc sys dev; do mount --rbind /$of " + root + "/$of; done\n";
    for (const YAML::Node& mount : container["volumeMounts"]) {
      const std::string target = root + mount["mountPath"].as<std::string>();
      for (const YAML::Node& volume : pod["volumes"]) {
        if (volume["name"].as<std::string>() != mount["name"].as<std::string>()) continue;
        const std::string source = volume["configMap"] ? Settings(volume["configMap"]["name"].as<std::string>())
                                                       : OnHost(volume["hostPath"]["path"].as<std::string>());
        out += "mkdir -p " + target + "\nmount --rbind " + source + " " + target + "\n";
        if (mount["readOnly"]) out += "mount -o remount,bind,ro " + target + "\n";
      }
    }
    if (container["securityContext"]["readOnlyRootFilesystem"].as<bool>())
      out += "mount -o remount,bind,ro " + root + "\n";
    out += "exec chroot " + root;
    for (const std::string& word : WordsOf(container["command"])) out += " " + (word == "$(NODE_NAME)" ? "n1" : word);
    return out;
  }
  void Begin(const YAML::Node& daemon_set, const std::string& kind = "containers") {
    pid_ = Spawn("unshare", {"--mount", "--propagation", "private", "sh", "-ec", Script(daemon_set, kind)}, {},
                 berthd->Dir("berthd.log"));
    ASSERT_GT(pid_, 0);
  }
  /// False: never, or it ended before.
  bool Tells(const std::string& reason) {
    return berthd->Until(reason, [&] { return berthd->CountEvents(reason) > 0 || !testkit::Lives(pid_); }) &&
           berthd->CountEvents(reason) > 0;
  }
  /// Exit status; -1: by a signal, or none ran. 0: it ends by itself.
  int Finish(int signal) {
    if (pid_ <= 0) return -1;
    if (signal != 0) ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// Whether the container's program has begun to wait for signals: it holds back all that os::HeldSignals does, of
  /// which those that it waits for just now are not shown. The shell before it holds back all there are while it starts
  /// a program.
  bool WaitsForSignals() const {
    const std::string status = testkit::ReadIfThere("/proc/" + std::to_string(pid_) + "/status");
    constexpr std::string_view kBlocked = "SigBlk:\t";
    const std::size_t at = status.find(kBlocked);
    if (at == std::string::npos) return false;
    std::uint64_t signals = 0;
    std::from_chars(status.data() + at + kBlocked.size(), status.data() + status.size(), signals, 16);
    const auto held = [&](int signal) { return (signals >> (signal - 1) & 1) != 0; };
    return held(SIGUSR1) && !held(SIGQUIT);
  }
  /// What the kubelet asks until it takes the container for ready.
  Ran Probe(const YAML::Node& daemon_set) const {
    const YAML::Node pod = daemon_set["spec"]["template"]["spec"];
    std::vector<std::string> words = {"--target", std::to_string(pid_), "--mount", "--root", "--"};
    for (std::string& word : WordsOf(pod["containers"][0]["readinessProbe"]["exec"]["command"]))
      words.push_back(std::move(word));
    return RunProgram("nsenter", words);
  }

  int pid_ = -1;
};

TEST_F(DaemonNriDaemonSetTest, BerthdJoinsWithWhatItIsGivenThereAndGivesTheNodeBackWithTheSame) {
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const YAML::Node base = Base();
  Begin(base);
  ASSERT_TRUE(Tells("RuntimeJoined")) << berthd->output();
  const Ran probe = Probe(base);
  EXPECT_EQ(0, probe.status) << probe.out << probe.err;
  const PodOnNode own = RunWhole("own", "", 1000);
  EXPECT_EQ("1", CpusOf(own.container));
  EXPECT_TRUE(Becomes(shared.container, "0"));
  EXPECT_EQ(0, Finish(SIGTERM)) << berthd->output();
  EXPECT_FALSE(fs::is_empty(berthd->Dir("state")));

  const YAML::Node give_back = GiveBack();
  Begin(give_back, "initContainers");
  EXPECT_EQ(0, Finish(0)) << berthd->output();
  for (const std::string& id : {shared.container, own.container, shared.sandbox, own.sandbox})
    EXPECT_EQ("0-1", CpusOf(id)) << id;
  EXPECT_TRUE(fs::is_empty(berthd->Dir("state")) && fs::is_empty(berthd->Dir("run"))) << berthd->output();
  Begin(give_back);  // it stays until it is deleted
  EXPECT_TRUE(berthd->Until("it stays", [&] { return WaitsForSignals(); })) << berthd->output();
  EXPECT_EQ(0, Finish(SIGTERM)) << berthd->output();
}

/// A kubelet starts it again and again while the runtime has no NRI: it waits instead, and says so.
TEST_F(DaemonNriDaemonSetTest, BerthdWaitsThereForARuntimeThatDoesNotAnswer) {
  containerd->Kill();
  fs::remove(containerd->nri_socket());
  Begin(Base());
  EXPECT_TRUE(Tells("RuntimeNotJoined")) << berthd->output();
  EXPECT_EQ(0, Finish(SIGTERM)) << berthd->output();
}

}  // namespace
}  // namespace berth
