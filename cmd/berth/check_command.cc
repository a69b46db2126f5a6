#include "berth/check_command.h"

#include <array>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "config/kubelet_reader.h"
#include "frontend/nri_agent/placement_conflicts.h"
#include "frontend/nri_preflight/containers.h"
#include "frontend/nri_preflight/cpuset_plan.h"
#include "frontend/nri_preflight/findings.h"
#include "frontend/nri_preflight/host_inspection.h"
#include "frontend/nri_preflight/report.h"
#include "host/cgroup/cgroup.h"
#include "host/machine/load_machine.h"
#include "host/os/fs.h"
#include "host/os/input.h"
#include "host/os/path.h"
#include "model/kubelet_version.h"
#include "runtime/cri/cri_client.h"

namespace berth::cli {
namespace {

constexpr std::string_view kKubeletFolder = "/var/lib/kubelet";
constexpr std::array<std::string_view, 3> kRuntimes = {"/run/containerd/containerd.sock", "/run/crio/crio.sock",
                                                       "/run/k3s/containerd/containerd.sock"};
constexpr os::Millis kPatience{10'000};

/// The first that is not empty.
std::string FirstOf(std::initializer_list<std::string_view> texts) {
  for (const std::string_view text : texts)
    if (!text.empty()) return std::string(text);
  return {};
}

/// `wanted` if anybody says so, else where `kubelet` says or a usual place, if there is a socket.
std::string FindRuntime(os::Fs& root, std::string_view wanted, const KubeletConfiguration* kubelet) {
  if (!wanted.empty()) return cri::SocketOf(wanted).value_or(std::string(wanted));
  if (kubelet != nullptr)
    if (auto socket = cri::SocketOf(kubelet->container_runtime_endpoint);
        socket && root.Exists(*socket).value_or(false))
      return *std::move(socket);
  for (const std::string_view path : kRuntimes)
    if (root.Exists(path).value_or(false)) return std::string(path);
  return {};
}

/// In a container that sees the host's processes: where the host's files are, as process 1 has them. "" elsewhere.
std::string PrefixOfHost() {
  const auto fs = os::OpenFs("/");
  if (!fs) return {};
  const auto ours = (*fs)->ReadLink("/proc/self/ns/mnt");
  const auto hosts = (*fs)->ReadLink("/proc/1/ns/mnt");
  return ours && hosts && *ours != *hosts ? "/proc/1/root" : "";
}

std::string RuntimeConfigOf(const nri_preflight::RuntimeFacts& runtime) {
  return runtime.name == "cri-o" ? "/etc/crio/crio.conf" : "/etc/containerd/config.toml";
}

struct Base {
  allocator::Node node;
  Ledger ledger;
  allocator::Inputs inputs;
  bool from_berthd = false;
};

/// What a plan begins with: the berthd that runs here, or a node where Berth has placed nothing. `folder`: the
/// kubelet's.
Result<Base> BaseOf(const CheckOptions& options, const KubeletConfiguration* kubelet, const std::string& folder,
                    const Session& session) {
  if (options.config.empty() && session.Reachable()) {
    BERTH_TRY(offline::OfflineNode node,
              offline::LoadOfflineNode(
                  {.kubelet_version = options.kubelet_version, .ledger = session.socket(), .ask = options.ask},
                  session.err()));
    return Base{.node = std::move(node.node),
                .ledger = std::move(node.ledger),
                .inputs = std::move(node.inputs),
                .from_berthd = true};
  }
  allocator::EngineOptions engine{.node_fit = false};
  engine.kubelet_version = nri_agent::ReadKubeletPlaces(folder).version.value_or(engine.kubelet_version);
  if (!options.kubelet_version.empty()) {
    BERTH_TRY(engine.kubelet_version, ParseKubeletVersion(options.kubelet_version));
  }
  BERTH_TRY(Machine machine, machine::LoadThisHost());
  KubeletConfiguration config = nri_preflight::UsualPlacement(kubelet, machine);
  if (!options.config.empty()) {
    BERTH_TRY(const std::string text, os::ReadInput(options.config));
    BERTH_TRY(auto parsed, config::ParseKubeletConfiguration(text, options.config, engine.kubelet_version));
    for (const manifest::Warning& warning : parsed.warnings)
      session.err() << "berth: warning: " << warning.where << ": " << warning.message << "\n";
    config = std::move(parsed.config);
  }
  BERTH_TRY(allocator::Node node, allocator::Node::Make(std::move(machine), std::move(config), engine));
  Ledger ledger = node.EmptyLedger();
  return Base{.node = std::move(node), .ledger = std::move(ledger), .inputs = {}};
}

struct OpenedTree {
  nri_preflight::CgroupFacts facts;
  std::unique_ptr<cgroup::Tree> tree;  // null: it cannot be opened
};

OpenedTree OpenTreeToLook() {
  OpenedTree out;
  auto fs = os::OpenFs("/");
  if (!fs) return out;
  auto layout = cgroup::DiscoverLayout(**fs);
  if (!layout) {
    out.facts.problem = layout.error().message;
    return out;
  }
  out.facts.version = cgroup::Name(layout->version);
  if (auto tree = cgroup::Tree::OpenToLook(*std::move(fs), *std::move(layout), "/")) out.tree = *std::move(tree);
  return out;
}

/// All but the findings. Errors: as BaseOf.
Result<nri_preflight::Preflight> LookAround(const CheckOptions& options, const Session& session) {
  const std::string prefix = PrefixOfHost();
  BERTH_TRY(const std::unique_ptr<os::Fs> root, os::OpenFs(prefix.empty() ? "/" : prefix));
  nri_preflight::Preflight out;
  const nri_preflight::Programs programs = nri_preflight::FindPrograms(*root);
  const auto flag = [&](std::string_view name) { return nri_preflight::FlagOf(programs.kubelet_flags, name); };
  const std::string folder = FirstOf({options.kubelet_dir, flag("root-dir"), kKubeletFolder});
  nri_preflight::LookedAtKubelet kubelet = nri_preflight::LookAtKubelet(
      *root, FirstOf({options.kubelet_config, flag("config"), folder + "/config.yaml"}), folder);
  out.kubelet = std::move(kubelet.facts);
  out.kubelet.pid = programs.kubelet;
  out.berthd = programs.berthd;
  out.rivals = programs.rivals;
  OpenedTree tree = OpenTreeToLook();
  out.cgroups = std::move(tree.facts);

  const KubeletConfiguration* const config = kubelet.config ? &*kubelet.config : nullptr;
  const std::string endpoint =
      FindRuntime(*root, FirstOf({options.endpoint, flag("container-runtime-endpoint")}), config);
  if (endpoint.empty()) {
    out.runtime.problem = "no container runtime was found: there is none of the sockets";
    for (const std::string_view path : kRuntimes) out.runtime.problem.append(" ").append(path);
    out.nri =
        nri_preflight::LookAtNri(*root, options.nri_socket, FirstOf({options.runtime_config, RuntimeConfigOf({})}));
    return out;
  }
  const cri::Client client(prefix + endpoint, {.usual = kPatience});
  out.runtime = nri_preflight::AskRuntime(client);
  out.runtime.endpoint = endpoint;
  out.nri = nri_preflight::LookAtNri(*root, options.nri_socket,
                                     FirstOf({options.runtime_config, RuntimeConfigOf(out.runtime)}));
  out.nri.version = nri_preflight::NriVersionOf(out.runtime.name, out.runtime.version);
  if (!out.runtime.problem.empty()) return out;
  const auto seen = nri_preflight::AskContainers(client, *root, tree.tree.get());
  if (!seen) {
    out.runtime.problem = seen.error().message;
    return out;
  }
  BERTH_TRY(Base base, BaseOf(options, config, prefix + folder, session));
  out.from_berthd = base.from_berthd;
  out.plan = nri_preflight::PlanCpusets(base.node, std::move(base.ledger), base.inputs, *seen);
  return out;
}

}  // namespace

int RunCheck(CheckOptions options, const Session& session) {
  for (std::string* const path :
       {&options.endpoint, &options.nri_socket, &options.runtime_config, &options.kubelet_config, &options.kubelet_dir})
    if (const auto cwd = os::WorkingFolder(); cwd && !path->contains("://")) *path = os::SeenFrom(*cwd, *path);
  auto preflight = LookAround(options, session);
  if (!preflight) {
    session.err() << "berth: " << preflight.error().message << "\n";
    return kFailed;
  }
  preflight->findings = nri_preflight::Judge(*preflight);
  if (session.for_people()) {
    session.out() << nri_preflight::FormatReport(*preflight, session.table());
  } else if (const int printed = session.PrintData(nri_preflight::ToJson(*preflight)); printed != kOk) {
    return printed;
  }
  if (!preflight->runtime.problem.empty()) return kUnreachable;
  return preflight->ready() ? kOk : kRejected;
}

}  // namespace berth::cli
