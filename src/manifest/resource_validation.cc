#include "manifest/resource_validation.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/name_validation.h"
#include "base/suggest.h"
#include "base/text.h"
#include "model/resources.h"

namespace berth::manifest {
namespace {

constexpr const char* kStorage = "ephemeral-storage";
constexpr std::string_view kNativeNames[] = {"cpu", "memory", kStorage};

bool IsExtended(std::string_view name) { return name.find('/') != std::string_view::npos; }
bool IsNative(std::string_view name) { return std::ranges::find(kNativeNames, name) != std::end(kNativeNames); }
/// Nobody can have a part of one, so a request below the limit means nothing.
bool IsIndivisible(std::string_view name) { return IsHugePages(name) || IsExtended(name); }

std::string BadName(std::string_view name) {
  if (IsExtended(name))
    return InvalidValue(name,
                        "an extended resource needs a name such as vendor.example/gpu: a lowercase domain, '/', then "
                        "letters, digits, '-', '_' and '.'");
  std::string why =
      "must be cpu, memory, ephemeral-storage, hugepages-<size> or a name with a domain such as "
      "vendor.example/gpu";
  if (const std::string_view nearest = Nearest(name, kNativeNames); !nearest.empty())
    why += "; did you mean \"" + std::string(nearest) + "\"?";
  return InvalidValue(name, why);
}

void CheckHugepagesAmount(std::string_view name, const Quantity& amount, const Path& path, Report& report) {
  const std::optional<Bytes> page = PageSizeOf(name);
  if (!page) return report.Problem(path, InvalidValue(name, "needs a page size, as in hugepages-2Mi"));
  if (!amount.IsInteger() || amount.Value() % page->v != 0)
    report.Problem(path, InvalidValue(amount.ToString(),
                                      "must be a multiple of the page size " + std::string(PageSizeText(name))));
}

void CheckAmount(std::string_view name, const Quantity& amount, const Path& path, Report& report) {
  if (!IsNative(name) && !IsHugePages(name) && !IsQualifiedName(name)) return report.Problem(path, BadName(name));
  if (amount.Sign() < 0)
    return report.Problem(path, InvalidValue(amount.ToString(), "must be greater than or equal to 0"));
  if (IsHugePages(name)) return CheckHugepagesAmount(name, amount, path, report);
  if (IsExtended(name) && !amount.IsInteger())
    report.Problem(path, InvalidValue(amount.ToString(), "must be an integer: such a device cannot be divided"));
}

Path Entry(const Path& list, std::string_view name) {
  return Path{.parent = &list, .key = name, .index = -1, .entry = true};
}

void CheckAmounts(const ResourceList& list, const Path& path, Report& report) {
  for (const auto& [name, amount] : list) CheckAmount(name, amount, Entry(path, name), report);
}

void CheckAgainstLimit(const std::string& name, const Quantity& request, const Resources& resources, const Path& path,
                       Report& report) {
  const auto limit = resources.limits.find(name);
  if (limit == resources.limits.end()) {
    if (IsIndivisible(name))
      report.Problem(path, "Required value: a limit must be set for " + Printable(name, 80) +
                               ", equal to the request: it cannot be overcommitted");
    return;
  }
  const std::string text = limit->second.ToString();
  if (IsIndivisible(name) && request != limit->second) {
    report.Problem(path,
                   InvalidValue(request.ToString(), "must be equal to " + Printable(name, 80) + " limit of " + text));
  } else if (request > limit->second) {
    report.Problem(path, InvalidValue(request.ToString(),
                                      "must be less than or equal to " + Printable(name, 80) + " limit of " + text));
  }
}

/// Both lists, and each request against its limit.
void CheckResources(const Resources& resources, const Path& path, Report& report) {
  const Path limits{.parent = &path, .key = "limits"};
  const Path requests{.parent = &path, .key = "requests"};
  CheckAmounts(resources.limits, limits, report);
  CheckAmounts(resources.requests, requests, report);
  for (const auto& [name, request] : resources.requests)
    CheckAgainstLimit(name, request, resources, Entry(requests, name), report);
}

bool NamesOne(const Resources& resources, std::string_view name) {
  return resources.requests.contains(name) || resources.limits.contains(name);
}

bool NamesHugepages(const Resources& resources) {
  const auto huge = [](const auto& entry) { return IsHugePages(entry.first); };
  return std::ranges::any_of(resources.limits, huge) || std::ranges::any_of(resources.requests, huge);
}

void CheckPodLevelNames(const ResourceList& list, const Path& path, Report& report) {
  for (const auto& [name, amount] : list)
    if (!CountsAtPodLevel(name))
      report.Problem(
          Entry(path, name),
          InvalidValue(name, "pods as a whole take cpu, memory and hugepages-<size> only; move it to a container"));
}

/// Totals of the containers alone.
Resources ContainerTotals(const Pod& pod) {
  Pod bare = pod;
  bare.resources.reset();
  bare.overhead.clear();
  return {.requests = PodRequests(bare), .limits = PodLimits(bare)};
}

}  // namespace

void CheckContainerResources(const Resources& resources, const Path& path, Report& report) {
  CheckResources(resources, path, report);
  if (NamesHugepages(resources) && !NamesOne(resources, "cpu") && !NamesOne(resources, "memory"))
    report.Problem(path, "Forbidden: HugePages require cpu or memory; ask for one of them too");
}

void CheckPodResources(const Pod& pod, const Path& path, Report& report) {
  const Resources& own = *pod.resources;
  const Path limits{.parent = &path, .key = "limits"};
  const Path requests{.parent = &path, .key = "requests"};
  CheckPodLevelNames(own.limits, limits, report);
  CheckPodLevelNames(own.requests, requests, report);
  CheckResources(own, path, report);
  for (const auto& [name, total] : ContainerTotals(pod).requests)
    if (const auto it = own.requests.find(name); it != own.requests.end() && it->second < total)
      report.Problem(
          Entry(requests, name),
          InvalidValue(it->second.ToString(),
                       "must be greater than or equal to aggregate container requests of " + total.ToString()));
  const auto check_limits = [&](const std::vector<Container>& containers, std::string_view list) {
    const Path list_path{.parent = path.parent, .key = list};
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const Path item{.parent = &list_path, .key = {}, .index = static_cast<int>(i)};
      const Path resources{.parent = &item, .key = "resources"};
      const Path at{.parent = &resources, .key = "limits"};
      for (const auto& [name, limit] : containers[i].resources.limits)
        if (const auto it = own.limits.find(name); it != own.limits.end() && limit > it->second)
          report.Problem(Entry(at, name), InvalidValue(limit.ToString(), "must be less than or equal to pod limit of " +
                                                                             it->second.ToString()));
    }
  };
  check_limits(pod.init_containers, "initContainers");
  check_limits(pod.containers, "containers");
}

void WarnOfStorage(const Pod& pod, const Path& root, Report& report) {
  std::string first;
  int more = -1;
  const auto look = [&](const Resources& resources, const std::string& path) {
    for (const auto& [list, key] :
         {std::pair(&resources.limits, "limits"), std::pair(&resources.requests, "requests")}) {
      if (!list->contains(kStorage)) continue;
      if (++more == 0) first = path + "." + key + "[" + std::string(kStorage) + "]";
      return;  // requests follow the limits
    }
  };
  const Path spec{.parent = &root, .key = "spec"};
  for (const auto& [containers, key] :
       {std::pair(&pod.containers, "containers"), std::pair(&pod.init_containers, "initContainers")}) {
    const Path list{.parent = &spec, .key = key};
    for (std::size_t i = 0; i < containers->size(); ++i) {
      const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
      look((*containers)[i].resources, Path{.parent = &item, .key = "resources"}.ToString());
    }
  }
  if (more < 0) return;
  if (more > 0) first += " (and " + std::to_string(more) + " more)";
  report.WarnAt(first,
                "no effect: space on disks is neither counted nor limited for containers; emptyDir.sizeLimit bounds a "
                "volume");
}

void CheckOverhead(const ResourceList& overhead, const Path& path, Report& report) {
  CheckAmounts(overhead, path, report);
}

}  // namespace berth::manifest
