#include "manifest/pod_extras_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/name_validation.h"
#include "base/text.h"
#include "manifest/pod_isolation_reader.h"

namespace berth::manifest {
namespace {

constexpr std::string_view kSecurityUnused[] = {"windowsOptions"};
constexpr std::string_view kPodSecurityUnused[] = {"seLinuxChangePolicy", "windowsOptions"};
// What the one level has and the other has not.
constexpr std::string_view kOnlyOfContainers[] = {"allowPrivilegeEscalation", "capabilities", "privileged", "procMount",
                                                  "readOnlyRootFilesystem"};
constexpr std::string_view kOnlyOfPods[] = {
    "fsGroup", "fsGroupChangePolicy", "seLinuxChangePolicy", "supplementalGroups", "supplementalGroupsPolicy",
    "sysctls"};

// Users and groups as the API takes them.
void CheckId(Report& report, const Path& path, std::int64_t id) {
  constexpr std::int64_t kMost = 2'147'483'647;
  if (id < 0 || id > kMost)
    report.Problem(path, "Invalid value: " + std::to_string(id) + ": must be between 0 and 2147483647, inclusive");
}

void ReadUserOrGroup(Object& object, std::string_view key, std::optional<std::int64_t>& out) {
  object.Read(key, out);
  if (out) CheckId(object.report(), object.PathOf(key), *out);
}

void CheckSeccomp(Object& profile, const SecurityContext& security) {
  const std::string& type = security.seccomp;
  const std::string& file = security.seccomp_localhost;
  Report& report = profile.report();
  if (type != "RuntimeDefault" && type != "Unconfined" && type != "Localhost")
    report.Problem(profile.PathOf("type"), UnsupportedValue(type, {"RuntimeDefault", "Unconfined", "Localhost"}));
  if (type != "Localhost") {
    if (!file.empty())
      report.Problem(profile.PathOf("localhostProfile"), "Invalid value: can only be set when type is Localhost");
    return;
  }
  if (file.empty()) {
    report.Problem(profile.PathOf("localhostProfile"), "Required value: the profile's file, below the seccomp folder");
    return;
  }
  const std::vector<std::string_view> parts = Split(file, '/');
  if (file.starts_with('/') || std::ranges::find(parts, "..") != parts.end())
    report.Problem(profile.PathOf("localhostProfile"),
                   "Invalid value: \"" + Printable(file, 80) + "\": must be a relative path without \"..\"");
}

/// "all", in whichever case, as container runtimes take it.
void ReadCapabilities(Object& object, std::string_view key, std::vector<std::string>& out) {
  constexpr std::string_view kAll = "ALL";
  object.Read(key, out);
  const auto same = [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b; };
  for (std::string& name : out)
    if (std::ranges::equal(name, kAll, same)) name = kAll;
}

/// As the API has it: both at once cannot be.
void CheckEscalation(Object& object, const SecurityContext& security) {
  if (security.allow_privilege_escalation.value_or(true)) return;
  const Path path = object.PathOf("allowPrivilegeEscalation");
  if (security.privileged.value_or(false))
    object.report().Problem(path, "Invalid value: false: cannot be false where privileged is true; take one out");
  for (const std::string& name : security.add_capabilities)
    if (name == "CAP_SYS_ADMIN")
      object.report().Problem(path, "Invalid value: false: cannot be false where CAP_SYS_ADMIN is added");
}

/// What both levels have.
void ReadSharedSecurity(Object& object, SecurityContext& out) {
  ReadSecurityIsolation(object, out);
  ReadUserOrGroup(object, "runAsUser", out.run_as_user);
  ReadUserOrGroup(object, "runAsGroup", out.run_as_group);
  object.Read("runAsNonRoot", out.run_as_non_root);
  object.Within("seccompProfile", [&](Object& profile) {
    profile.Read("type", out.seccomp);
    profile.Read("localhostProfile", out.seccomp_localhost);
    CheckSeccomp(profile, out);
    profile.Finish();
  });
}

}  // namespace

void ReadSecurityContext(Object& object, SecurityContext& out) {
  ReadSharedSecurity(object, out);
  ReadWord(object, "procMount", {"Default", "Unmasked"}, out.proc_mount);
  object.Read("privileged", out.privileged);
  object.Read("readOnlyRootFilesystem", out.read_only_root);
  object.Read("allowPrivilegeEscalation", out.allow_privilege_escalation);
  object.Within("capabilities", [&](Object& capabilities) {
    ReadCapabilities(capabilities, "add", out.add_capabilities);
    ReadCapabilities(capabilities, "drop", out.drop_capabilities);
    capabilities.Finish();
  });
  CheckEscalation(object, out);
  object.WarnOfFieldsOf("spec.securityContext", kOnlyOfPods);
  object.Finish(kSecurityUnused);
}

void ReadPodSecurityContext(Object& object, SecurityContext& out) {
  ReadSharedSecurity(object, out);
  ReadSysctls(object, out);
  ReadUserOrGroup(object, "fsGroup", out.fs_group);
  ReadWord(object, "fsGroupChangePolicy", {"Always", "OnRootMismatch"}, out.fs_group_change_policy);
  object.Read("supplementalGroups", out.supplemental_groups);
  const Path groups = object.PathOf("supplementalGroups");
  for (std::size_t i = 0; i < out.supplemental_groups.size(); ++i)
    CheckId(object.report(), Path{.parent = &groups, .key = {}, .index = static_cast<int>(i)},
            out.supplemental_groups[i]);
  ReadWord(object, "supplementalGroupsPolicy", {"Merge", "Strict"}, out.supplemental_groups_policy);
  object.WarnOfFieldsOf("spec.containers[].securityContext", kOnlyOfContainers);
  object.Finish(kPodSecurityUnused);
}

}  // namespace berth::manifest
