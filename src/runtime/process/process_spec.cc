#include "runtime/process/process_spec.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "host/os/accounts.h"
#include "host/os/capabilities.h"
#include "host/os/confine.h"
#include "host/os/identity.h"
#include "host/os/own_mounts.h"
#include "host/os/pidfd.h"

namespace berth::runtime {
namespace {

constexpr std::uint32_t kNobodysGroup = 65534;
constexpr std::string_view kEveryCapability = "ALL";

std::string UnknownCapability(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (name != kEveryCapability && !os::CapabilityNumber(name))
      return "Linux has no capability \"" + Printable(name, 40) + "\"; names are like NET_ADMIN, or ALL";
  return "";
}

bool Has(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// What container runtimes make of add and drop, on what a process of the host has by itself.
Result<os::CapabilitySet> CapabilitiesOf(const ShimRequest& request) {
  const os::CapabilitySet own = os::OwnCapabilities();
  if (request.privileged) return own;
  const os::CapabilitySet means = os::CapabilityBit(CAP_SYS_ADMIN) | os::CapabilityBit(CAP_SYS_PTRACE);
  os::CapabilitySet out = Has(request.dropped_capabilities, kEveryCapability) ? 0 : own & ~means;
  if (Has(request.added_capabilities, kEveryCapability)) out = own;
  for (const std::string& name : request.added_capabilities) {
    const std::optional<int> number = os::CapabilityNumber(name);
    if (!number) continue;
    if ((own & os::CapabilityBit(*number)) == 0)
      return Fail(Code::kInvalid, "capability " + name + " is to be added, and berthd itself does not have it");
    out |= os::CapabilityBit(*number);
  }
  for (const std::string& name : request.dropped_capabilities)
    if (const std::optional<int> number = os::CapabilityNumber(name)) out &= ~os::CapabilityBit(*number);
  return out;
}

Result<void> PutUserAndGroups(const ShimRequest& request, os::Identity& out) {
  if (!request.user && !request.group && request.groups.empty()) return {};
  const std::uint32_t user = request.user.value_or(::geteuid());
  BERTH_TRY(const std::optional<os::Account> account, os::FindAccount(user));
  out.user = request.user;
  out.group = request.group;
  // As for an image without such a user, but that the group of root is no group to be in by accident on a host.
  if (!out.group && request.user) out.group = account ? account->group : user == 0 ? 0 : kNobodysGroup;
  std::vector<std::uint32_t>& groups = out.groups.emplace(request.groups);
  if (account && request.user && !request.only_those_groups)
    groups.insert(groups.end(), account->groups.begin(), account->groups.end());
  std::ranges::sort(groups);
  groups.erase(std::ranges::unique(groups).begin(), groups.end());
  return {};
}

/// All but what the kernel is told of mounts.
Result<os::ProcessSpec> CommonSpec(const ShimRequest& request) {
  os::ProcessSpec spec;
  spec.argv = request.argv;
  spec.env = request.env;
  for (const std::string& variable : spec.env)
    if (variable.starts_with("PATH=")) spec.search_path = variable.substr(5);
  spec.working_dir = request.working_dir;
  spec.cgroup_dirs = request.cgroup.dirs;
  spec.cgroup_v2 = request.cgroup.v2;
  spec.oom_score_adj = request.oom_score_adj;
  BERTH_RETURN_IF_ERROR(PutUserAndGroups(request, spec.identity));
  BERTH_TRY(const os::CapabilitySet capabilities, CapabilitiesOf(request));
  spec.identity.must_drop = !request.dropped_capabilities.empty();
  if (::geteuid() == 0 || spec.identity.must_drop) spec.identity.capabilities = capabilities;
  spec.identity.no_new_privileges = request.no_new_privileges;
  spec.identity.seccomp = request.seccomp_filter;
  return spec;
}

// What is privileged, or may do as good as everything, changes cgroups as it likes; so does nobody but root.
bool KeepsItsMeans(const ShimRequest& request, const os::ProcessSpec& spec) {
  return request.privileged || ::geteuid() != 0 || (spec.identity.capabilities & os::CapabilityBit(CAP_SYS_ADMIN)) != 0;
}

}  // namespace

std::string ProcessProblem(const SecurityContext& security) {
  if (security.run_as_non_root.value_or(false)) {
    if (!security.run_as_user)
      return "runAsNonRoot is set, and a process without an image has no user but runAsUser; set runAsUser";
    if (*security.run_as_user == 0) return "runAsNonRoot is set, and runAsUser is root";
  }
  if (std::string unknown = UnknownCapability(security.add_capabilities); !unknown.empty()) return unknown;
  return UnknownCapability(security.drop_capabilities);
}

Result<void> CompileSeccomp(ShimRequest& request, const SeccompCompiler& compile) {
  if (request.privileged || request.seccomp.empty() || request.seccomp == "Unconfined") return {};
  if (!compile) return Fail(Code::kUnsupported, "seccomp profiles cannot be compiled here");
  BERTH_TRY(os::CapabilitySet capabilities, CapabilitiesOf(request));
  if (request.seccomp == "RuntimeDefault" && !Has(request.added_capabilities, kEveryCapability)) {
    os::CapabilitySet added = 0;
    for (const std::string& name : request.added_capabilities)
      if (const std::optional<int> number = os::CapabilityNumber(name)) added |= os::CapabilityBit(*number);
    capabilities &= added;
  }
  BERTH_TRY(request.seccomp_filter, compile(request.seccomp, request.seccomp_profile, capabilities));
  return {};
}

Result<os::ProcessSpec> SpecOf(const ShimRequest& request) {
  BERTH_TRY(os::ProcessSpec spec, CommonSpec(request));
  BERTH_TRY(spec.mounts, os::PlanMounts(request.volumes, request.read_only_root));
  if (!KeepsItsMeans(request, spec)) {
    BERTH_TRY(spec.confinement, os::PlanConfinement());
  }
  return spec;
}

Result<InsideSpec> SpecInside(const ShimRequest& request, int pid, const os::UniqueFd& pidfd,
                              std::vector<std::string> command) {
  BERTH_TRY(os::ProcessSpec spec, CommonSpec(request));
  spec.argv = std::move(command);
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/mnt";
  os::UniqueFd mounts(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const int sys = errno;
  // Opened while it lived: the number was still its own.
  if (os::HasEnded(pidfd.get())) return Fail(Code::kNotFound, "container " + request.container + " has ended");
  if (!mounts.valid()) return FailErrno("open", path, sys);
  spec.confinement = os::Confinement{.enter_fd = mounts.get(), .bar_namespaces = !KeepsItsMeans(request, spec)};
  return InsideSpec{.spec = std::move(spec), .mount_namespace = std::move(mounts)};
}

}  // namespace berth::runtime
