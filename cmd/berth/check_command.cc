#include "berth/check_command.h"

#include <array>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cgroup/cgroup.h"
#include "cri/cri_client.h"
#include "machine/load_machine.h"
#include "manifest/manifest.h"
#include "os/fs.h"
#include "os/input.h"
#include "os/path.h"
#include "survey/containers.h"
#include "survey/findings.h"
#include "survey/host_inspection.h"
#include "survey/report.h"
#include "survey/takeover_plan.h"

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

std::string RuntimeConfigOf(const survey::RuntimeFacts& runtime) {
  return runtime.name == "cri-o" ? "/etc/crio/crio.conf" : "/etc/containerd/config.toml";
}

struct Base {
  engine::Node node;
  Ledger ledger;
  engine::Inputs inputs;
  bool from_berthd = false;
};

/// What a plan begins with: the berthd that runs here, or a node where Berth has placed nothing.
Result<Base> BaseOf(const CheckOptions& options, const KubeletConfiguration* kubelet, const Session& session) {
  if (options.config.empty() && session.Reachable()) {
    BERTH_TRY(offline::OfflineNode node,
              offline::LoadOfflineNode({.ledger = session.socket(), .ask = options.ask}, session.err()));
    return Base{.node = std::move(node.node),
                .ledger = std::move(node.ledger),
                .inputs = std::move(node.inputs),
                .from_berthd = true};
  }
  BERTH_TRY(Machine machine, machine::LoadThisHost());
  KubeletConfiguration config = survey::UsualPlacement(kubelet, machine);
  if (!options.config.empty()) {
    BERTH_TRY(const std::string text, os::ReadInput(options.config));
    BERTH_TRY(auto parsed, manifest::ParseKubeletConfiguration(text, options.config));
    for (const manifest::Warning& warning : parsed.warnings)
      session.err() << "berth: warning: " << warning.where << ": " << warning.message << "\n";
    config = std::move(parsed.config);
  }
  BERTH_TRY(engine::Node node, engine::Node::Make(std::move(machine), std::move(config), {.node_fit = false}));
  Ledger ledger = node.EmptyLedger();
  return Base{.node = std::move(node), .ledger = std::move(ledger), .inputs = {}};
}

struct OpenedTree {
  survey::CgroupFacts facts;
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
Result<survey::Survey> LookAround(const CheckOptions& options, const Session& session) {
  const std::string prefix = PrefixOfHost();
  BERTH_TRY(const std::unique_ptr<os::Fs> root, os::OpenFs(prefix.empty() ? "/" : prefix));
  survey::Survey out;
  const survey::Programs programs = survey::FindPrograms(*root);
  const auto flag = [&](std::string_view name) { return survey::FlagOf(programs.kubelet_flags, name); };
  const std::string folder = FirstOf({options.kubelet_dir, flag("root-dir"), kKubeletFolder});
  survey::LookedAtKubelet kubelet =
      survey::LookAtKubelet(*root, FirstOf({options.kubelet_config, flag("config"), folder + "/config.yaml"}), folder);
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
    out.nri = survey::LookAtNri(*root, options.nri_socket, FirstOf({options.runtime_config, RuntimeConfigOf({})}));
    return out;
  }
  const cri::Client client(prefix + endpoint, {.usual = kPatience});
  out.runtime = survey::AskRuntime(client);
  out.runtime.endpoint = endpoint;
  out.nri =
      survey::LookAtNri(*root, options.nri_socket, FirstOf({options.runtime_config, RuntimeConfigOf(out.runtime)}));
  out.nri.version = survey::NriVersionOf(out.runtime.name, out.runtime.version);
  if (!out.runtime.problem.empty()) return out;
  const auto seen = survey::AskContainers(client, *root, tree.tree.get());
  if (!seen) {
    out.runtime.problem = seen.error().message;
    return out;
  }
  BERTH_TRY(Base base, BaseOf(options, config, session));
  out.from_berthd = base.from_berthd;
  out.plan = survey::PlanTakeover(base.node, std::move(base.ledger), base.inputs, *seen);
  return out;
}

}  // namespace

int RunCheck(CheckOptions options, const Session& session) {
  for (std::string* const path :
       {&options.endpoint, &options.nri_socket, &options.runtime_config, &options.kubelet_config, &options.kubelet_dir})
    if (const auto cwd = os::WorkingFolder(); cwd && !path->contains("://")) *path = os::SeenFrom(*cwd, *path);
  auto survey = LookAround(options, session);
  if (!survey) {
    session.err() << "berth: " << survey.error().message << "\n";
    return kFailed;
  }
  survey->findings = survey::Judge(*survey);
  if (session.for_people()) {
    session.out() << survey::FormatReport(*survey, session.table());
  } else if (const int printed = session.PrintData(survey::ToJson(*survey)); printed != kOk) {
    return printed;
  }
  if (!survey->runtime.problem.empty()) return kUnreachable;
  return survey->ready() ? kOk : kRejected;
}

}  // namespace berth::cli
