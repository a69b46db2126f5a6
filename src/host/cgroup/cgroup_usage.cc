#include "host/cgroup/cgroup_usage.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "host/cgroup/control_files.h"

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr std::int64_t kBytesOfKib = 1024;

std::optional<std::uint64_t> CountIn(std::string_view text, std::string_view name) {
  const auto found = ParseField(text, name);
  return found && *found >= 0 ? std::optional(static_cast<std::uint64_t>(*found)) : std::nullopt;
}

std::optional<std::int64_t> Kib(std::string_view meminfo, std::string_view name) {
  const auto found = ParseField(meminfo, name);
  return found ? std::optional(*found * kBytesOfKib) : std::nullopt;
}

struct StallLine {
  microseconds total{0};
  double lately = 0;
};
/// "some avg10=0.00 avg60=0.00 avg300=0.00 total=12"
std::optional<StallLine> StallIn(std::string_view text, std::string_view kind) {
  constexpr std::string_view kLately = "avg10=";
  constexpr std::string_view kTotal = "total=";
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = SplitWords(line);
    if (words.size() < 2 || words.front() != kind || !words.back().starts_with(kTotal)) continue;
    const auto total = ParseDecimal<std::int64_t>(words.back().substr(kTotal.size()));
    if (!total) return std::nullopt;
    StallLine out{.total = microseconds(*total)};
    if (words[1].starts_with(kLately)) {
      const std::string_view number = words[1].substr(kLately.size());
      std::from_chars(number.data(), number.data() + number.size(), out.lately);
    }
    return out;
  }
  return std::nullopt;
}

Result<void> ReadStalls(ControlFiles& files, const std::string& dir, std::string_view suffix, GroupUsage& out) {
  const auto read = [&](const char* what, std::optional<Stall>& stall) -> Result<void> {
    const auto text = files.Read(dir + "/" + what + std::string(suffix));
    if (text && *text) stall = ParseStall(**text);  // a kernel may have the files and not count (psi=0)
    return {};
  };
  BERTH_RETURN_IF_ERROR(read("cpu", out.cpu_stall));
  BERTH_RETURN_IF_ERROR(read("memory", out.memory_stall));
  return read("io", out.io_stall);
}

Result<void> ReadCpu(ControlFiles& files, const std::string& dir, bool v2, GroupUsage& out) {
  BERTH_TRY(const auto stat, files.Read(dir + "/cpu.stat"));
  if (stat) ParseCpuStat(*stat, v2, out);
  if (v2) return {};
  BERTH_TRY(const auto used, files.Parsed(dir + "/cpuacct.usage", ParseNumber));
  if (used) out.cpu = nanoseconds(*used);
  return {};
}

Result<void> ReadMemory(ControlFiles& files, const std::string& dir, bool v2, GroupUsage& out) {
  BERTH_TRY(const auto used, files.Parsed(dir + (v2 ? "/memory.current" : "/memory.usage_in_bytes"), ParseNumber));
  if (!used) return {};
  out.memory = out.working_set = Bytes{*used};
  BERTH_TRY(const auto stat, files.Read(dir + "/memory.stat"));
  if (stat) ParseMemoryStat(*stat, v2, out);
  if (!v2) return {};
  BERTH_TRY(const auto swap, files.Parsed(dir + "/memory.swap.current", ParseNumber));
  if (swap) out.swap = Bytes{*swap};
  return {};
}

/// "cpu0 user nice system idle iowait irq softirq steal guest guest_nice"; guests' time is in user's.
std::optional<nanoseconds> BusyOf(const std::vector<std::string_view>& words, long ticks) {
  constexpr std::array<std::size_t, 6> kBusy = {1, 2, 3, 6, 7, 8};
  constexpr std::int64_t kNano = 1'000'000'000;
  if (words.size() <= kBusy.back()) return std::nullopt;
  std::int64_t busy = 0;
  for (const std::size_t i : kBusy) busy += ParseDecimal<std::int64_t>(words[i]).value_or(0);
  return nanoseconds(busy * (kNano / ticks));
}

}  // namespace

std::optional<Stall> ParseStall(std::string_view text) {
  const auto some = StallIn(text, "some");
  if (!some) return std::nullopt;
  const StallLine full = StallIn(text, "full").value_or(StallLine());
  return Stall{.some = some->total, .full = full.total, .some_lately = some->lately, .full_lately = full.lately};
}

void ParseCpuStat(std::string_view text, bool v2, GroupUsage& out) {
  if (const auto used = v2 ? CountIn(text, "usage_usec") : std::nullopt)
    out.cpu = microseconds(static_cast<std::int64_t>(*used));
  const auto periods = CountIn(text, "nr_periods");
  const auto throttled = CountIn(text, "nr_throttled");
  const auto time = CountIn(text, v2 ? "throttled_usec" : "throttled_time");
  if (!periods || !throttled || !time) return;
  const auto length = static_cast<std::int64_t>(*time);
  out.throttling =
      Throttling{.periods = *periods, .throttled = *throttled, .time = v2 ? microseconds(length) : nanoseconds(length)};
}

void ParseMemoryStat(std::string_view text, bool v2, GroupUsage& out) {
  const auto idle = ParseField(text, v2 ? "inactive_file" : "total_inactive_file");
  if (out.memory) out.working_set = Bytes{std::max<std::int64_t>(0, out.memory->v - idle.value_or(0))};
  if (const auto anonymous = ParseField(text, v2 ? "anon" : "total_rss")) out.anonymous = Bytes{*anonymous};
  if (const auto swap = v2 ? std::nullopt : ParseField(text, "total_swap")) out.swap = Bytes{*swap};
  out.page_faults = CountIn(text, v2 ? "pgfault" : "total_pgfault");
  out.major_page_faults = CountIn(text, v2 ? "pgmajfault" : "total_pgmajfault");
}

HostUsage ParseHost(std::string_view stat, std::string_view meminfo, std::string_view vmstat, long ticks) {
  HostUsage out;
  for (const std::string_view line : Split(stat, '\n')) {
    const std::vector<std::string_view> words = SplitWords(line);
    if (words.empty() || !words.front().starts_with("cpu")) break;  // they stand first
    const auto busy = BusyOf(words, ticks);
    const auto cpu = ParseDecimal<std::uint32_t>(words.front().substr(3));
    if (!busy) continue;
    if (cpu)
      out.cpus[CpuId{*cpu}] = {.time = *busy, .used = std::nullopt};
    else
      out.all.cpu = busy;
  }
  if (const auto booted = ParseField(stat, "btime")) out.booted_at = WallTime(std::chrono::seconds(*booted));
  const auto total = Kib(meminfo, "MemTotal:");
  const auto free = Kib(meminfo, "MemFree:");
  if (total && free) {
    out.memory = Bytes{*total};
    out.huge_pages = Bytes{Kib(meminfo, "Hugetlb:").value_or(0)};
    out.all.memory = Bytes{std::max<std::int64_t>(0, *total - *free - out.huge_pages.v)};
    const Bytes idle{Kib(meminfo, "Inactive(file):").value_or(0)};
    out.all.working_set = Bytes{std::max<std::int64_t>(0, (*out.all.memory - idle).v)};
  }
  if (const auto anonymous = Kib(meminfo, "AnonPages:")) out.all.anonymous = Bytes{*anonymous};
  const auto swap = Kib(meminfo, "SwapTotal:");
  if (swap) out.all.swap = Bytes{*swap - Kib(meminfo, "SwapFree:").value_or(0)};
  out.all.page_faults = CountIn(vmstat, "pgfault");
  out.all.major_page_faults = CountIn(vmstat, "pgmajfault");
  return out;
}

std::optional<NumaMemory> ParseNumaMemory(std::string_view text) {
  std::optional<std::int64_t> total;
  std::optional<std::int64_t> free;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = SplitWords(line);
    if (words.size() < 4 || words[0] != "Node") continue;
    if (words[2] == "MemTotal:") total = ParseDecimal<std::int64_t>(words[3]);
    if (words[2] == "MemFree:") free = ParseDecimal<std::int64_t>(words[3]);
  }
  if (!total || !free) return std::nullopt;
  return NumaMemory{.total = Bytes{*total * kBytesOfKib}, .free = Bytes{*free * kBytesOfKib}};
}

std::map<NumaId, Bytes> ParseNumaStat(std::string_view text, bool v2, std::int64_t page) {
  std::map<NumaId, Bytes> out;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = SplitWords(line);
    if (words.empty()) continue;
    const bool counts =
        v2 ? words.front() == "anon" || words.front() == "file" : words.front().starts_with("hierarchical_total=");
    if (!counts) continue;
    for (const std::string_view word : words) {
      const std::size_t equals = word.find('=');
      if (!word.starts_with('N') || equals == std::string_view::npos) continue;
      const auto node = ParseDecimal<std::uint32_t>(word.substr(1, equals - 1));
      const auto amount = ParseDecimal<std::int64_t>(word.substr(equals + 1));
      if (node && amount && *amount >= 0) out[NumaId{*node}].v += v2 ? *amount : *amount * page;
    }
  }
  return out;
}

Result<std::map<NumaId, Bytes>> ReadMemoryByNode(ControlFiles& files,
                                                 const std::vector<std::unique_ptr<Hierarchy>>& hierarchies,
                                                 const std::string& path) {
  for (const auto& hierarchy : hierarchies) {
    if (!hierarchy->Has("memory")) continue;
    BERTH_TRY(const auto text, files.Read(hierarchy->Dir(path) + "/memory.numa_stat"));
    return ParseNumaStat(text.value_or(""), hierarchy->v2(), ::sysconf(_SC_PAGESIZE));
  }
  return std::map<NumaId, Bytes>();
}

Result<std::optional<GroupUsage>> ReadGroupUsage(ControlFiles& files,
                                                 const std::vector<std::unique_ptr<Hierarchy>>& hierarchies,
                                                 const std::string& path) {
  GroupUsage out;
  for (const auto& hierarchy : hierarchies) {
    const std::string dir = hierarchy->Dir(path);
    const bool v2 = hierarchy->v2();
    if (v2 || hierarchy->Has("cpu") || hierarchy->Has("cpuacct")) BERTH_RETURN_IF_ERROR(ReadCpu(files, dir, v2, out));
    if (hierarchy->Has("memory")) BERTH_RETURN_IF_ERROR(ReadMemory(files, dir, v2, out));
    if (hierarchy->Has("pids")) {
      BERTH_TRY(out.processes, files.Parsed(dir + "/pids.current", ParseNumber));
    }
    if (v2) BERTH_RETURN_IF_ERROR(ReadStalls(files, dir, ".pressure", out));
  }
  if (out == GroupUsage()) return std::nullopt;
  return out;
}

Result<std::optional<HostUsage>> ReadHostUsage(ControlFiles& files, const NodeSet& nodes) {
  BERTH_TRY(const auto stat, files.Read("/proc/stat"));
  BERTH_TRY(const auto meminfo, files.Read("/proc/meminfo"));
  BERTH_TRY(const auto vmstat, files.Read("/proc/vmstat"));
  if (!stat || !meminfo) return std::nullopt;
  HostUsage out = ParseHost(*stat, *meminfo, vmstat.value_or(""), std::max(1L, ::sysconf(_SC_CLK_TCK)));
  BERTH_RETURN_IF_ERROR(ReadStalls(files, "/proc/pressure", "", out.all));
  for (const NumaId node : nodes) {
    BERTH_TRY(const auto text, files.Read("/sys/devices/system/node/node" + std::to_string(Raw(node)) + "/meminfo"));
    if (const auto memory = text ? ParseNumaMemory(*text) : std::nullopt) out.nodes[node] = *memory;
  }
  return out;
}

}  // namespace berth::cgroup
