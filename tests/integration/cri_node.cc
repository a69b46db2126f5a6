#include "cri_node.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "base/text.h"
#include "testing/seen_groups.h"

namespace berth::testkit {

namespace fs = std::filesystem;

std::string Yaml(const PodText& pod) {
  const std::string command = pod.command.empty() ? "[\"/bin/sh\", \"-c\", \"" + pod.script + "\"]" : pod.command;
  std::string out = "apiVersion: v1\nkind: Pod\nmetadata: {name: " + pod.name + pod.metadata + "}\nspec:\n";
  if (pod.host_network) out += "  hostNetwork: true\n";
  if (pod.spec.find("terminationGracePeriodSeconds") == std::string::npos)
    out += "  terminationGracePeriodSeconds: 2\n";
  out += pod.spec + "  containers:\n  - name: app\n    image: " + pod.image + "\n    command: " + command + "\n" +
         pod.container;
  if (!pod.cpu.empty()) out += "    resources: {limits: {cpu: \"" + pod.cpu + "\", memory: 32Mi}}\n";
  return out;
}

std::string AllCpus() { return FormatIds(OnlineCpus()); }

std::string OtherCpus() { return FormatIds(OnlineCpus() - CpuSet{CpuId{1}}); }

int Rounds(int usual) {
  const char* const text = std::getenv("BERTH_CRI_ROUNDS");
  return text == nullptr ? usual : ParseDecimal<int>(text).value_or(usual);
}

void CriNodeTest::SetUp() {
  for (const auto& why : {ContainerdFixture::WhyNot(), DaemonFixture::WhyNot()})
    if (why) GTEST_SKIP() << *why;
  if (!OnlineCpus().Contains(CpuId{0}) || !OnlineCpus().Contains(CpuId{1})) GTEST_SKIP() << "needs CPUs 0 and 1";
  containerd.emplace();
  containerd->Start();
  berthd.emplace(OtherCpus());
}

void CriNodeTest::TearDown() {
  berthd.reset();
  relay.reset();
}

void CriNodeTest::PutRelayBetween() { relay.emplace(berthd->Dir("relay.sock"), containerd->socket()); }

void CriNodeTest::Start() {
  std::ofstream(berthd->Dir("berth.yaml"))
      << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nruntime: cri\n" + settings;
  berthd->Start({"--config", berthd->Dir("berth.yaml"), "--socket", berthd->socket(), "--runtime-endpoint",
                 "unix://" + (relay ? berthd->Dir("relay.sock") : containerd->socket())});
}

void CriNodeTest::Remove(const std::string& pod) { fs::remove(berthd->Dir("pods/" + pod + ".yaml")); }

bool CriNodeTest::Phase(const std::string& pod, const std::string& phase) {
  const codec::Json found = berthd->PodNamed(pod);
  return found.is_object() && found["phase"] == phase;
}

bool CriNodeTest::NoPods() {
  const codec::Json pods = berthd->Get("/v1/pods");
  return pods.is_object() && pods["pods"].empty();
}

std::vector<SeenProcess> CriNodeTest::ProcessesOf(const std::string& pod) {
  std::vector<SeenProcess> out;
  const std::map<std::string, int> pids = berthd->Pids();
  const auto pid = pids.find(pod + "-n1/app");
  const std::vector<SeenProcess> all = berthd->Processes();
  const auto main = pid == pids.end() ? all.end() : std::ranges::find(all, pid->second, &SeenProcess::pid);
  if (main == all.end()) return out;
  std::ranges::copy_if(all, std::back_inserter(out), [&](const SeenProcess& p) { return p.cgroup == main->cgroup; });
  return out;
}

CpuSet CriNodeTest::CpusOf(const std::string& pod) {
  CpuSet out;
  for (const SeenProcess& process : ProcessesOf(pod)) out |= process.allowed;
  return out;
}

std::vector<fs::path> CriNodeTest::LogFiles() {
  std::vector<fs::path> out;
  std::error_code error;
  for (const fs::directory_entry& entry : EntriesBelow(berthd->Dir("log")))
    if (entry.is_regular_file(error) && !entry.is_symlink(error)) out.push_back(entry.path());  // not the links to them
  return out;
}

std::string CriNodeTest::LogOf(const std::string& pod, const std::string& container) {
  std::string out;
  for (const fs::path& file : LogFiles())
    if (file.string().find("_" + pod + "-n1_") != std::string::npos &&
        (container.empty() || file.parent_path().filename() == container))
      out += ReadIfThere(file);
  return out;
}

std::string CriNodeTest::WordsOf(const std::string& pod, const std::string& container) {
  std::string out;
  std::istringstream log(LogOf(pod, container));
  for (std::string line; std::getline(log, line);)
    if (const std::size_t at = line.find(" F "); at != std::string::npos) out += line.substr(at + 3) + "\n";
  return out;
}

std::vector<std::string> CriNodeTest::Leftovers() {
  std::vector<std::string> out = berthd->Leftovers();
  return out.empty() ? containerd->Leftovers(berthd->killed()) : out;
}

void CriNodeTest::ExpectNothingLeft() {
  std::vector<std::string> left;
  const bool clean = berthd->Until("nothing is left", [&] {
    left = Leftovers();
    return left.empty();
  });
  if (!clean) ADD_FAILURE() << Join(left, "\n") << "\ncontainerd said:\n" << containerd->output();
}

}  // namespace berth::testkit
