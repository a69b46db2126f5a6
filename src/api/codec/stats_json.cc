// What is used in the shape of a kubelet's /stats/summary. Fields that a kubelet does not have: throttling,
// numaBytes, and perCpu and numa of the node.
#include <chrono>
#include <cmath>
#include <utility>

#include "api/codec/json_parts.h"
#include "base/text.h"

namespace berth::codec {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr double kNano = 1e9;

template <class T, class ToValue>
void Put(Json& out, const char* key, const std::optional<T>& value, const ToValue& to_value) {
  if (value) out[key] = to_value(*value);
}

std::int64_t InBytes(Bytes bytes) { return bytes.v; }
std::int64_t InNanoseconds(nanoseconds time) { return time.count(); }

Json StallJson(const Stall& stall) {
  return {{"some", {{"total", InNanoseconds(stall.some)}, {"avg10", stall.some_lately}}},
          {"full", {{"total", InNanoseconds(stall.full)}, {"avg10", stall.full_lately}}}};
}

/// By the number of a node or CPU, as text.
template <class Map, class ToValue>
Json ByNumber(const Map& map, const ToValue& to_value) {
  Json out = Json::object();
  for (const auto& [id, value] : map) out[std::to_string(Raw(id))] = to_value(value);
  return out;
}

Json ThrottlingJson(const Throttling& throttling) {
  return {{"periods", throttling.periods},
          {"throttledPeriods", throttling.throttled},
          {"throttledNanoSeconds", InNanoseconds(throttling.time)}};
}

/// `out` has the fields of `usage`, all but those of the whole.
void AddUsage(Json& out, const GroupUsage& usage, const std::optional<Bytes>& available, WallTime at) {
  const std::string time = FormatTime(at);
  Json cpu = {{"time", time}};
  Put(cpu, "usageNanoCores", usage.cores, [](double cores) { return std::llround(cores * kNano); });
  Put(cpu, "usageCoreNanoSeconds", usage.cpu, InNanoseconds);
  Put(cpu, "psi", usage.cpu_stall, StallJson);
  Put(cpu, "throttling", usage.throttling, ThrottlingJson);
  out["cpu"] = std::move(cpu);
  Json memory = {{"time", time}};
  Put(memory, "availableBytes", available, InBytes);
  Put(memory, "usageBytes", usage.memory, InBytes);
  Put(memory, "workingSetBytes", usage.working_set, InBytes);
  Put(memory, "rssBytes", usage.anonymous, InBytes);
  Put(memory, "pageFaults", usage.page_faults, [](std::uint64_t count) { return count; });
  Put(memory, "majorPageFaults", usage.major_page_faults, [](std::uint64_t count) { return count; });
  Put(memory, "psi", usage.memory_stall, StallJson);
  if (!usage.numa.empty()) memory["numaBytes"] = ByNumber(usage.numa, InBytes);
  out["memory"] = std::move(memory);
  if (usage.io_stall) out["io"] = {{"time", time}, {"psi", StallJson(*usage.io_stall)}};
  if (usage.swap) out["swap"] = {{"time", time}, {"swapUsageBytes", usage.swap->v}};
  if (usage.processes) out["process_stats"] = {{"process_count", *usage.processes}};
}

Json NamedJson(const NamedUsage& named, const char* name, WallTime at) {
  Json out = {{name, named.name}};
  Put(out, "startTime", named.started_at, FormatTime);
  AddUsage(out, named.usage, named.available, at);
  return out;
}

Json NamedListJson(const std::vector<NamedUsage>& list, WallTime at) {
  Json out = Json::array();
  for (const NamedUsage& named : list) out.push_back(NamedJson(named, "name", at));
  return out;
}

Json PodStatsJson(const PodStats& pod, WallTime at) {
  Json out = {{"podRef", {{"name", pod.name}, {"namespace", pod.namespace_}, {"uid", pod.uid}}}};
  Put(out, "startTime", pod.started_at, FormatTime);
  out["containers"] = NamedListJson(pod.containers, at);
  AddUsage(out, pod.usage, std::nullopt, at);
  return out;
}

template <class T>
std::optional<T> Maybe(const Reader& reader, const char* key) {
  if (!reader.Has(key)) return std::nullopt;
  return reader.Field(key).Integer<T>();
}

std::optional<Bytes> MaybeBytes(const Reader& reader, const char* key) {
  const auto value = Maybe<std::int64_t>(reader, key);
  return value ? std::optional(Bytes{*value}) : std::nullopt;
}

std::optional<WallTime> MaybeTime(const Reader& reader, const char* key) {
  return reader.Has(key) ? ReadTime(reader.Field(key)) : std::nullopt;
}

std::optional<Stall> ReadStall(const Reader& reader) {
  if (!reader.Has("psi")) return std::nullopt;
  const Reader psi = reader.Field("psi");
  const auto total = [&](const char* kind) {
    return std::chrono::duration_cast<microseconds>(
        nanoseconds(psi.Field(kind).Field("total").Integer<std::int64_t>()));
  };
  const auto lately = [&](const char* kind) {
    const Reader of = psi.Field(kind);
    return of.Has("avg10") ? of.Field("avg10").Decimal() : 0;
  };
  return Stall{
      .some = total("some"), .full = total("full"), .some_lately = lately("some"), .full_lately = lately("full")};
}

std::optional<Throttling> ReadThrottling(const Reader& cpu) {
  if (!cpu.Has("throttling")) return std::nullopt;
  const Reader throttling = cpu.Field("throttling");
  return Throttling{.periods = throttling.Field("periods").Integer<std::uint64_t>(),
                    .throttled = throttling.Field("throttledPeriods").Integer<std::uint64_t>(),
                    .time = nanoseconds(throttling.Field("throttledNanoSeconds").Integer<std::int64_t>())};
}

/// Calls `take` with each number that is a key, and its value.
template <class Id, class Take>
void ReadByNumber(const Reader& reader, const char* key, const Take& take) {
  if (!reader.Has(key)) return;
  for (const auto& [name, value] : reader.Field(key).Members()) {
    const auto id = ParseDecimal<std::uint32_t>(name);
    if (id)
      take(Id{*id}, value);
    else
      value.Note("expected a number as its name");
  }
}

GroupUsage ReadUsage(const Reader& reader) {
  const Reader cpu = reader.Field("cpu");
  const Reader memory = reader.Field("memory");
  GroupUsage out;
  if (const auto nano = Maybe<std::int64_t>(cpu, "usageNanoCores")) out.cores = static_cast<double>(*nano) / kNano;
  if (const auto used = Maybe<std::int64_t>(cpu, "usageCoreNanoSeconds")) out.cpu = nanoseconds(*used);
  out.cpu_stall = ReadStall(cpu);
  out.throttling = ReadThrottling(cpu);
  out.memory = MaybeBytes(memory, "usageBytes");
  out.working_set = MaybeBytes(memory, "workingSetBytes");
  out.anonymous = MaybeBytes(memory, "rssBytes");
  out.page_faults = Maybe<std::uint64_t>(memory, "pageFaults");
  out.major_page_faults = Maybe<std::uint64_t>(memory, "majorPageFaults");
  out.memory_stall = ReadStall(memory);
  ReadByNumber<NumaId>(memory, "numaBytes", [&](NumaId node, const Reader& value) {
    out.numa[node] = Bytes{value.Integer<std::int64_t>()};
  });
  if (reader.Has("io")) out.io_stall = ReadStall(reader.Field("io"));
  if (reader.Has("swap")) out.swap = MaybeBytes(reader.Field("swap"), "swapUsageBytes");
  if (reader.Has("process_stats")) out.processes = Maybe<std::int64_t>(reader.Field("process_stats"), "process_count");
  return out;
}

NamedUsage ReadNamed(const Reader& reader, const char* name) {
  return {.name = reader.Field(name).String(),
          .started_at = MaybeTime(reader, "startTime"),
          .usage = ReadUsage(reader),
          .available = MaybeBytes(reader.Field("memory"), "availableBytes")};
}

std::vector<NamedUsage> ReadNamedList(const Reader& reader) {
  std::vector<NamedUsage> out;
  for (const Reader& item : reader.Items()) out.push_back(ReadNamed(item, "name"));
  return out;
}

PodStats ReadPodStats(const Reader& reader) {
  const Reader ref = reader.Field("podRef");
  return {.namespace_ = ref.Field("namespace").String(),
          .name = ref.Field("name").String(),
          .uid = ref.Field("uid").String(),
          .started_at = MaybeTime(reader, "startTime"),
          .usage = ReadUsage(reader),
          .containers = ReadNamedList(reader.Field("containers"))};
}

}  // namespace

Json ToJson(const StatsSummary& summary) {
  Json node = NamedJson(summary.node, "nodeName", summary.at);
  node["systemContainers"] = NamedListJson(summary.groups, summary.at);
  if (!summary.numa.empty())
    node["numa"] = ByNumber(summary.numa, [](const NumaMemory& memory) -> Json {
      return {{"totalBytes", memory.total.v}, {"freeBytes", memory.free.v}};
    });
  if (!summary.cpus.empty())
    node["cpu"]["perCpu"] = ByNumber(summary.cpus, [](const CpuBusy& cpu) {
      Json out = {{"usageCoreNanoSeconds", InNanoseconds(cpu.time)}};
      Put(out, "usageNanoCores", cpu.used, [](double used) { return std::llround(used * kNano); });
      return out;
    });
  Json pods = Json::array();
  for (const PodStats& pod : summary.pods) pods.push_back(PodStatsJson(pod, summary.at));
  return {{"node", std::move(node)}, {"pods", std::move(pods)}};
}

Result<StatsSummary> StatsSummaryFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    const Reader node = reader.Field("node");
    StatsSummary out{.at = {},
                     .node = ReadNamed(node, "nodeName"),
                     .groups = ReadNamedList(node.Field("systemContainers")),
                     .pods = {}};
    out.at = ReadTime(node.Field("cpu").Field("time")).value_or(WallTime());
    for (const Reader& item : reader.Field("pods").Items()) out.pods.push_back(ReadPodStats(item));
    ReadByNumber<NumaId>(node, "numa", [&](NumaId id, const Reader& value) {
      out.numa[id] = {.total = Bytes{value.Field("totalBytes").Integer<std::int64_t>()},
                      .free = Bytes{value.Field("freeBytes").Integer<std::int64_t>()}};
    });
    ReadByNumber<CpuId>(node.Field("cpu"), "perCpu", [&](CpuId id, const Reader& value) {
      CpuBusy& cpu = out.cpus[id];
      cpu.time = nanoseconds(value.Field("usageCoreNanoSeconds").Integer<std::int64_t>());
      if (const auto nano = Maybe<std::int64_t>(value, "usageNanoCores")) cpu.used = static_cast<double>(*nano) / kNano;
    });
    return out;
  });
}

}  // namespace berth::codec
