#include "daemon/cgroup_driver.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>

#include "host/cgroup/systemd.h"
#include "host/os/host.h"

namespace berth::daemon {
namespace {

/// What systemd says about itself to programs that do not speak to it.
constexpr const char* kSystemdRuns = "/run/systemd/system";
/// systemd marks the cgroups of units with Delegate=yes.
constexpr const char* kDelegated = "trusted.delegate";

/// Whether the cgroup `root` or one above it was handed over.
bool IsDelegated(const cgroup::Layout& layout, std::string root) {
  const std::string mount = layout.controllers.front().mount;
  for (; root.size() > 1; root.resize(root.rfind('/'))) {
    const auto mark = os::ReadAttribute(mount + root, kDelegated);
    if (mark && *mark == "1") return true;
  }
  return false;
}

Result<void> CheckNoPodsOf(cgroup::Driver other, const cgroup::Layout& layout, const Settings& settings) {
  const auto names = cgroup::Names::Make(other, settings.cgroup_root, settings.kubelet.cgroups_per_qos);
  if (!names || !names->per_qos()) return {};
  BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
  BERTH_TRY(const auto tree, cgroup::Tree::OpenToLook(std::move(fs), layout, names->root()));
  const std::string all = names->Qos(QosClass::kGuaranteed);
  BERTH_TRY(const std::vector<int> pids, tree->Pids(all));
  if (pids.empty()) return {};
  return Fail(Code::kUnsupported,
              fmt::format("pods that were started with the {0} driver still run ({1} processes in cgroup {2}), and "
                          "would share CPUs with new ones unseen; end them first, or set 'cgroupDriver: {0}'",
                          cgroup::Name(other), pids.size(), all));
}

}  // namespace

Result<cgroup::Driver> FindDriver(os::Fs& root_fs, const cgroup::Layout& layout, const Settings& settings) {
  BERTH_TRY(const bool systemd, root_fs.Exists(kSystemdRuns));
  BERTH_TRY(const cgroup::Names names, cgroup::Names::Make(cgroup::Driver::kCgroupfs, settings.cgroup_root, true));
  const bool v2 = layout.version == cgroup::Version::kV2;
  BERTH_TRY(const cgroup::Driver driver, cgroup::ChooseDriver({.configured = settings.kubelet.cgroup_driver,
                                                               .systemd_runs = systemd,
                                                               .version = layout.version,
                                                               .delegated = v2 && IsDelegated(layout, names.root()),
                                                               .root = settings.cgroup_root}));
  if (v2 && systemd) {
    const bool is_systemd = driver == cgroup::Driver::kSystemd;
    BERTH_RETURN_IF_ERROR(
        CheckNoPodsOf(is_systemd ? cgroup::Driver::kCgroupfs : cgroup::Driver::kSystemd, layout, settings));
  }
  return driver;
}

Result<std::optional<cgroup::Driver>> FindDriver(const Settings& settings) {
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
  const auto layout = cgroup::DiscoverLayout(*fs);
  if (!layout) return std::nullopt;
  BERTH_TRY(const cgroup::Driver driver, FindDriver(*fs, *layout, settings));
  return driver;
}

}  // namespace berth::daemon
