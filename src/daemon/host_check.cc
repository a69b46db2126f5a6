#include "daemon/host_check.h"

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/text.h"
#include "daemon/host_groups.h"
#include "daemon/reserved_groups.h"
#include "host/cgroup/node_values.h"
#include "model/kubelet_rules.h"
#include "runtime/cri/cri_runtime.h"

namespace berth::daemon {
namespace {

/// What a kubelet wants of the kernel (rules/sources#settings).
struct Tunable {
  std::string_view name;
  std::string_view wanted;
};
constexpr Tunable kTunables[] = {{"vm.overcommit_memory", "1"},
                                 {"vm.panic_on_oom", "0"},
                                 {"kernel.panic", "10"},
                                 {"kernel.panic_on_oops", "1"},
                                 {"kernel.keys.root_maxkeys", "1000000"},
                                 {"kernel.keys.root_maxbytes", "25000000"}};

/// Swap areas in use, by the first word of their lines.
std::vector<std::string> SwapAreas(os::Fs& root) {
  std::vector<std::string> out;
  const auto text = root.Read("/proc/swaps");
  if (!text) return out;
  const std::vector<std::string_view> lines = Split(*text, '\n');
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (const auto words = SplitWords(lines[i]); !words.empty()) out.emplace_back(words.front());
  return out;
}

void CheckSwap(os::Fs& root, const KubeletConfiguration& config, HostFindings& out) {
  if (config.fail_swap_on == false) return;
  const std::vector<std::string> areas = SwapAreas(root);
  if (areas.empty()) return;
  const std::string on = fmt::format("failSwapOn: swap is on ({})", Printable(Join(areas, ", ")));
  if (config.fail_swap_on)
    out.problems.push_back(on + "; turn it off (swapoff -a), or set 'failSwapOn: false'");
  else
    out.warnings.push_back(on +
                           ": what has no memory limit may be swapped out, latency-critical or not (a kubelet would "
                           "not start); turn it off (swapoff -a), or set 'failSwapOn: false'");
}

void CheckTunables(os::Fs& root, const KubeletConfiguration& config, HostFindings& out) {
  if (!config.protect_kernel_defaults) return;
  for (const Tunable& tunable : kTunables) {
    std::string path = "/proc/sys/" + std::string(tunable.name);
    for (char& c : path)
      if (c == '.') c = '/';
    const auto found = root.Read(path);
    if (!found)
      out.problems.push_back("protectKernelDefaults: " + found.error().message);
    else if (Trim(*found) != tunable.wanted)
      out.problems.push_back(
          fmt::format("protectKernelDefaults: {0} is {1} and has to be {2}; set it "
                      "(sysctl -w {0}={2}), or set 'protectKernelDefaults: false'",
                      tunable.name, Printable(Trim(*found), 20), tunable.wanted));
  }
}

void CheckReservations(os::Fs& root, const Settings& settings, const cgroup::Layout& layout, cgroup::Driver driver,
                       HostFindings& out) {
  const KubeletConfiguration& config = settings.kubelet;
  const bool v2 = layout.version == cgroup::Version::kV2;
  const auto node = cgroup::SharesOfNode(config, KubeletRulesOf(settings.kubelet_version), {}, std::nullopt, -1, v2);
  if (!node) return out.problems.push_back(node.error().message);
  const auto groups = cgroup::ReservedGroups(config, *node);
  if (!groups) return out.problems.push_back(groups.error().message);
  for (const cgroup::ReservedGroup& group : *groups)
    if (auto there = CheckReserved(root, layout, driver, group); !there) out.problems.push_back(there.error().message);
}

}  // namespace

HostFindings CheckHost(os::Fs& root, const Settings& settings, const cgroup::Layout& layout, cgroup::Driver driver) {
  HostFindings out;
  const KubeletConfiguration& config = settings.kubelet;
  CheckSwap(root, config, out);
  if (config.fail_cgroup_v1 == true && layout.version != cgroup::Version::kV2)
    out.problems.push_back(
        "failCgroupV1: cgroups of this host are not v2 alone; boot it with v2 "
        "(systemd.unified_cgroup_hierarchy=1), or set 'failCgroupV1: false': Berth works on v1 too");
  CheckTunables(root, config, out);
  CheckReservations(root, settings, layout, driver, out);
  if (NamesAUnit(settings, driver))
    out.warnings.push_back(
        fmt::format("kubeletCgroups: has no effect: {} is the group of another service, berthd has "
                    "a scope of its own; take the setting out, or name a scope",
                    Printable(config.kubelet_cgroups, 80)));
  return out;
}

Result<void> CheckRuntimeSocket(os::Fs& root, const Settings& settings) {
  if (settings.berth.runtime != "cri") return {};
  BERTH_TRY(const std::string socket, cri::SocketOf(settings.kubelet.container_runtime_endpoint));
  BERTH_TRY(const bool there, root.Exists(socket));
  if (there) return {};
  return Fail(Code::kInvalid, "containerRuntimeEndpoint: " + Printable(socket) +
                                  " does not exist; start the container runtime, or name its socket");
}

}  // namespace berth::daemon
