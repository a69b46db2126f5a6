#include "host/cgroup/host_figures.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/units.h"
#include "host/cgroup/control_files.h"

namespace berth::cgroup {

Result<std::optional<HostFigures>> ReadHostFigures(ControlFiles& files) {
  constexpr std::int64_t kKib = 1024;
  BERTH_TRY(const auto memory, files.Read("/proc/meminfo"));
  BERTH_TRY(const auto load, files.Read("/proc/loadavg"));
  if (!memory || !load) return std::nullopt;
  const auto total = ParseField(*memory, "MemTotal:");
  const auto free = ParseField(*memory, "MemFree:");
  const auto idle = ParseField(*memory, "Inactive(file):");
  if (!total || !free || !idle) return Fail(Code::kInvalid, "/proc/meminfo lacks MemTotal, MemFree or Inactive(file)");
  HostFigures out;
  out.active_file = Bytes{ParseField(*memory, "Active(file):").value_or(0) * kKib};
  out.memory = Bytes{*total * kKib};
  const std::int64_t huge = ParseField(*memory, "Hugetlb:").value_or(0);  // of all sizes; missing before Linux 4.16
  out.huge_pages = Bytes{huge * kKib};
  out.working_set = Bytes{std::max<std::int64_t>(0, *total - *free - *idle - huge) * kKib};
  const auto words = SplitWords(*load);  // "0.1 0.2 0.3 running/all last-pid"
  const std::string_view counts = words.size() > 3 ? words[3] : std::string_view();
  const auto processes = ParseDecimal<std::int64_t>(counts.substr(counts.find('/') + 1));
  if (!processes)
    return Fail(Code::kInvalid, "/proc/loadavg has no number of processes: '" + Printable(*load, 60) + "'");
  out.processes = *processes;
  BERTH_TRY(const auto most, ReadPidCapacity(files));
  out.most_processes = most.value_or(0);
  return out;
}

Result<std::optional<std::int64_t>> ReadPidCapacity(ControlFiles& files) {
  std::optional<std::int64_t> out;
  for (const char* file : {"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"}) {
    BERTH_TRY(const auto number, files.Parsed(file, ParseNumber));
    if (number) out = std::min(out.value_or(*number), *number);
  }
  return out;
}

Result<std::optional<CpuSet>> ReadOnlineCpus(ControlFiles& files) {
  BERTH_TRY(const auto text, files.Read("/sys/devices/system/cpu/online"));
  if (!text) return std::nullopt;
  BERTH_TRY(CpuSet cpus, CpuSet::Parse(Trim(*text)));
  return cpus;
}

}  // namespace berth::cgroup
