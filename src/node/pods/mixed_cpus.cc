#include "node/pods/mixed_cpus.h"

#include <algorithm>
#include <utility>

#include "host/os/lock_file.h"
#include "host/os/volatile_file.h"

namespace berth::pods {
namespace {

constexpr const char* kFolderInside = "/run/berth/cpus";
constexpr const char* kPoolFile = "shared";
constexpr unsigned kPublicFolder = 0755;
constexpr unsigned kPublicFile = 0644;

}  // namespace

bool IsTold(const PodOptions& options, const Placement* placement) {
  return !options.pool.empty() && placement != nullptr && placement->mixed && placement->cpus;
}

bool IsAnyoneTold(const PodOptions& options, const Ledger& ledger) {
  return std::ranges::any_of(ledger.pods, [&](const PodEntry& pod) {
    return std::ranges::any_of(pod.second.placements, [&](const Placement& p) { return IsTold(options, &p); });
  });
}

void AddMixedCpus(const Placement& placement, const CpuSet& shared, const std::string& file,
                  runtime::Environment& env) {
  const auto add = [&](const char* name, std::string value) {
    const bool given = std::ranges::any_of(env, [&](const auto& variable) { return variable.first == name; });
    if (!given) env.emplace_back(name, std::move(value));
  };
  add(kExclusiveVariable, FormatIds(*placement.cpus));
  add(kSharedVariable, FormatIds(shared));
  add(kSharedFileVariable, file);
}

std::string FileOfPool(const PodOptions& options, const runtime::Runtime& runtime) {
  return (runtime.isolates_pods() ? kFolderInside : options.pool) + std::string("/") + kPoolFile;
}

runtime::BoundMount MountOfPool(const PodOptions& options) {
  return {.container_path = kFolderInside, .host_path = options.pool, .read_only = true};
}

Result<void> WritePool(const PodOptions& options, const CpuSet& shared) {
  BERTH_RETURN_IF_ERROR(os::MakeDirs(options.pool, kPublicFolder));
  return os::ReplaceVolatile(options.pool + "/" + kPoolFile, FormatIds(shared) + "\n", kPublicFile);
}

}  // namespace berth::pods
