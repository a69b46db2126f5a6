#include "daemon/kubelet_version_choice.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "api/codec/codec.h"
#include "base/text.h"
#include "frontend/nri_agent/placement_conflicts.h"
#include "frontend/nri_agent/placement_texts.h"
#include "host/os/clock.h"
#include "host/os/fs.h"
#include "host/os/pidfd.h"
#include "host/os/pipe.h"
#include "host/os/poll.h"
#include "host/os/process.h"
#include "kubernetes/kube_client/access.h"
#include "kubernetes/kube_client/kube_client.h"

namespace berth::daemon {
namespace {

constexpr std::size_t kLongestVersion = 40;
constexpr os::Millis kDeath{2'000};  // of a program that was killed
constexpr std::size_t kLongestOutput = 4096;

/// What comes until the other end is closed, or `deadline`.
std::string ReadUntil(int fd, os::MonoTime deadline) {
  std::string out;
  std::array<char, 512> chunk{};
  while (out.size() < kLongestOutput) {
    const Result<bool> ready = os::WaitFor(fd, POLLIN, deadline);
    const ssize_t n = ready && *ready ? ::read(fd, chunk.data(), chunk.size()) : 0;
    if (n <= 0) break;
    out.append(chunk.data(), static_cast<std::size_t>(n));
  }
  return out;
}

}  // namespace

std::optional<KubeletVersion> NearestKubeletVersion(std::string_view reported) {
  if (!reported.starts_with("v1.")) return std::nullopt;
  const std::string_view rest = reported.substr(3);
  const auto minor = ParseDecimal<std::uint16_t>(rest.substr(0, rest.find('.')));
  if (!minor) return std::nullopt;
  constexpr int kOldest = 36;
  const int newest = static_cast<int>(kKubeletVersions.size()) - 1;
  return kKubeletVersions.at(static_cast<std::size_t>(std::clamp(*minor - kOldest, 0, newest)));
}

KubeletVersionChoice ChooseKubeletVersion(const KubeletVersionSources& sources) {
  std::string failed;
  if (sources.node) {
    const auto reported = sources.node();
    const auto version = reported ? NearestKubeletVersion(*reported) : std::nullopt;
    if (version)
      return {*version, "the API server says that this node's kubelet is " + Printable(*reported, kLongestVersion)};
    failed = "; the API server does not tell: " + (reported ? Printable(*reported) : reported.error().message);
  }
  if (sources.program) {
    const auto said = sources.program();
    const auto version = said ? NearestKubeletVersion(*said) : std::nullopt;
    if (version)
      return {*version, "the kubelet that is installed is " + Printable(*said, kLongestVersion) + failed,
              failed.empty()};
    if (said || said.error().code != Code::kNotFound)
      failed += "; the program kubelet does not tell: " + (said ? Printable(*said) : said.error().message);
  }
  const nri_agent::KubeletPlaces files = nri_agent::ReadKubeletPlaces(sources.kubelet_dir);
  if (!files.problem.empty()) failed += "; " + files.problem;
  if (files.version)
    return {*files.version,
            fmt::format("the kubelet's state files in {} have its format{}",
                        nri_agent::WithoutHostRoot(sources.kubelet_dir), failed),
            failed.empty()};
  return {kDefaultKubeletVersion, "nothing tells of a kubelet of this node" + failed, failed.empty()};
}

Result<std::string> AskNodesKubelet(const std::string& kubeconfig, const std::string& node_name, os::Millis limit) {
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
  BERTH_TRY(kube::Access access, kube::LoadOwnAccess(*fs, kubeconfig));
  BERTH_TRY(const std::unique_ptr<kube::Client> client,
            kube::Client::Make(std::move(access), {.patience = limit / 2, .limit = limit, .retries = 0}));
  const auto node =
      client->Get({.resource = {.plural = "nodes"}, .namespace_ = {}, .name = node_name, .subresource = {}});
  if (!node) return std::unexpected<Error>(node.error());
  BERTH_TRY(codec::Json value, codec::ParseJson(node->json, "Node"));
  for (const char* const member : {"status", "nodeInfo", "kubeletVersion"}) {
    const auto found = value.is_object() ? value.find(member) : value.end();
    if (found == value.end()) return Fail(Code::kInvalid, "node " + node_name + " has no " + member);
    value = codec::Json(*found);
  }
  if (!value.is_string()) return Fail(Code::kInvalid, "node " + node_name + ": kubeletVersion is no text");
  return value.get<std::string>();
}

Result<std::string> AskKubeletProgram(const std::string& search_path, os::Millis limit) {
  BERTH_TRY(os::Pipe pipe, os::MakePipe());
  os::ProcessSpec spec{.argv = {"kubelet", "--version"}, .env = {}, .stdout_fd = pipe.write_end.get()};
  if (!search_path.empty()) spec.search_path = search_path;
  BERTH_TRY(const os::Process process, os::Spawn(spec));
  if (process.refused) return std::unexpected<Error>(*process.refused);
  pipe.write_end.reset();
  const std::string said = ReadUntil(pipe.read_end.get(), os::SystemClock().Now() + limit);
  if (os::SendSignal(process.pidfd.get(), SIGKILL) && os::WaitEnd(process.pidfd.get(), kDeath))
    os::Reap(process.pidfd.get());
  const std::vector<std::string_view> words = SplitWords(said);  // "Kubernetes v1.37.2"
  if (words.size() == 2 && words[0] == "Kubernetes") return std::string(words[1]);
  return Fail(Code::kInvalid, "kubelet --version says \"" + Printable(said) + "\"");
}

}  // namespace berth::daemon
