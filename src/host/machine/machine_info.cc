// cAdvisor's MachineInfo JSON, read and written. The only file of this component that knows nlohmann-json.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/machine/derive.h"
#include "host/machine/sources.h"

namespace berth::machine {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMaxSysfsId = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

/// Walks a JSON value. The first thing that is wrong is kept with its path; from then on every read gives defaults.
class Reader {
 public:
  /// Calls `read` with the member `key` of `object` unless it is missing or null.
  template <class Read>
  void Member(const Json& object, std::string_view key, Read read) {
    if (error_) return;
    const auto it = object.find(key);
    if (it == object.end() || it->is_null()) return;
    path_.push_back({key, 0});
    read(*it);
    path_.pop_back();
  }
  /// Calls `read` with each element of an array.
  template <class Read>
  void Each(const Json& array, Read read) {
    if (!array.is_array()) return Expected("a list", array);
    for (std::size_t i = 0; i < array.size() && !error_; ++i) {
      path_.push_back({{}, i});
      read(array[i]);
      path_.pop_back();
    }
  }
  /// A whole number from 0 to `max`; 0 after an error.
  std::int64_t Number(const Json& value, std::int64_t max) {
    const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    if (whole && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(max)) return value.get<std::int64_t>();
    Expected(max == kMaxInt64 ? std::string("a whole number") : fmt::format("a whole number from 0 to {}", max), value);
    return 0;
  }
  std::string Text(const Json& value) {
    if (const auto* text = value.get_ptr<const std::string*>()) return *text;
    Expected("a text", value);
    return {};
  }
  bool IsObject(const Json& value) {
    if (!value.is_object()) Expected("an object", value);
    return value.is_object();
  }
  void Wrong(std::string_view why) {
    if (!error_) error_ = fmt::format("{}: {}", Path(), why);
  }
  bool failed() const { return error_.has_value(); }
  const std::string& error() const { return *error_; }

 private:
  struct Step {
    std::string_view key;  ///< empty: an index
    std::size_t index = 0;
  };
  void Expected(std::string_view what, const Json& value) {
    std::string got = value.is_array() ? "a list" : "an object";  // dump() of a deep value would overflow the stack
    if (!value.is_structured()) got = Printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), 40);
    Wrong(fmt::format("expected {}, got {}", what, got));
  }
  std::string Path() const {
    std::string out;
    for (const Step& step : path_) {
      if (step.key.empty()) {
        out += fmt::format("[{}]", step.index);
      } else {
        out.append(out.empty() ? "" : ".").append(step.key);
      }
    }
    return out.empty() ? "top level" : out;
  }
  std::vector<Step> path_;
  std::optional<std::string> error_;
};

std::vector<HugePages> ReadHugePages(Reader& in, const Json& list) {
  std::vector<HugePages> out;
  in.Each(list, [&](const Json& item) {
    if (!in.IsObject(item)) return;
    HugePages pages;
    in.Member(item, "page_size", [&](const Json& v) { pages.page_size = KiB(in.Number(v, kMaxInt64 >> 20)); });
    in.Member(item, "num_pages", [&](const Json& v) { pages.count = in.Number(v, kMaxInt64); });
    if (pages.page_size.v == 0) return in.Wrong("page_size (KiB) is missing or 0");
    if (pages.count > kMaxInt64 / pages.page_size.v) return in.Wrong("page_size times num_pages is too large");
    out.push_back(pages);
  });
  return out;
}

UncoreCache ReadCache(Reader& in, const Json& item) {
  UncoreCache cache;
  if (!in.IsObject(item)) return cache;
  in.Member(item, "id",
            [&](const Json& v) { cache.id = CacheId{static_cast<std::uint32_t>(in.Number(v, kMaxSysfsId))}; });
  in.Member(item, "size", [&](const Json& v) { cache.size = Bytes{in.Number(v, kMaxInt64)}; });
  in.Member(item, "type", [&](const Json& v) { cache.type = in.Text(v); });
  in.Member(item, "level", [&](const Json& v) { cache.level = static_cast<int>(in.Number(v, 9)); });
  return cache;
}

Core ReadCore(Reader& in, const Json& item) {
  Core core;
  if (!in.IsObject(item)) return core;
  in.Member(item, "core_id",
            [&](const Json& v) { core.core_id = static_cast<std::uint32_t>(in.Number(v, kMaxSysfsId)); });
  in.Member(item, "socket_id",
            [&](const Json& v) { core.socket = SocketId{static_cast<std::uint32_t>(in.Number(v, kMaxSysfsId))}; });
  in.Member(item, "thread_ids", [&](const Json& v) {
    in.Each(v,
            [&](const Json& id) { core.threads.push_back(CpuId{static_cast<std::uint32_t>(in.Number(id, kMaxId))}); });
  });
  in.Member(item, "uncore_caches", [&](const Json& v) {
    in.Each(v, [&](const Json& cache) { core.uncore.push_back(ReadCache(in, cache)); });
  });
  return core;
}

/// A node's own caches: an L3 here is shared by the whole node and by nothing else.
void ReadNodeCaches(Reader& in, const Json& list, const NumaNode& node, std::vector<L3Group>& l3) {
  in.Each(list, [&](const Json& item) {
    const UncoreCache cache = ReadCache(in, item);
    if (cache.level != 3) return;
    L3Group group{.id = cache.id, .size = cache.size, .cpus = {}};
    for (const Core& core : node.cores)
      for (CpuId cpu : core.threads) group.cpus.Insert(cpu);
    l3.push_back(std::move(group));
  });
}

NumaNode ReadNode(Reader& in, const Json& item, std::vector<L3Group>& l3) {
  NumaNode node;
  if (!in.IsObject(item)) return node;
  if (!item.contains("node_id")) in.Wrong("node_id is missing");
  in.Member(item, "node_id",
            [&](const Json& v) { node.id = NumaId{static_cast<std::uint32_t>(in.Number(v, kMaxId))}; });
  in.Member(item, "memory", [&](const Json& v) { node.memory = Bytes{in.Number(v, kMaxInt64)}; });
  in.Member(item, "hugepages", [&](const Json& v) { node.hugepages = ReadHugePages(in, v); });
  in.Member(item, "cores",
            [&](const Json& v) { in.Each(v, [&](const Json& core) { node.cores.push_back(ReadCore(in, core)); }); });
  in.Member(item, "distances", [&](const Json& v) {
    in.Each(v, [&](const Json& d) { node.distances.push_back(static_cast<unsigned>(in.Number(d, kMaxSysfsId))); });
  });
  in.Member(item, "caches", [&](const Json& v) { ReadNodeCaches(in, v, node, l3); });
  return node;
}

/// Sums that are used where the JSON does not state a total.
void DefaultTotals(Machine& machine) {
  machine.reported_cpus = CountThreads(machine.nodes);
  machine.reported_cores = CountPhysicalCores(machine.nodes);
  machine.reported_sockets = CountSockets(machine.nodes);
  for (const NumaNode& node : machine.nodes) {
    machine.memory += node.memory;
    AddHugePages(machine.hugepages, node.hugepages);
  }
}

void ReadTotals(Reader& in, const Json& top, Machine& machine) {
  const auto count = [&](std::string_view key, int& out) {
    in.Member(top, key, [&](const Json& v) { out = static_cast<int>(in.Number(v, kMaxSysfsId)); });
  };
  count("num_cores", machine.reported_cpus);
  count("num_physical_cores", machine.reported_cores);
  count("num_sockets", machine.reported_sockets);
  in.Member(top, "memory_capacity", [&](const Json& v) { machine.memory = Bytes{in.Number(v, kMaxInt64)}; });
  in.Member(top, "hugepages", [&](const Json& v) { machine.hugepages = ReadHugePages(in, v); });
}

/// Sums of node memory and of huge pages, in bytes, must stay countable; checked before they are added up. Bytes of one
/// entry are (ReadHugePages).
bool SumsFit(const Machine& machine) {
  std::int64_t room = kMaxInt64;
  std::int64_t page_room = kMaxInt64;
  for (const NumaNode& node : machine.nodes) {
    if (node.memory.v > room) return false;
    room -= node.memory.v;
    for (const HugePages& pages : node.hugepages) {
      const std::int64_t bytes = pages.page_size.v * pages.count;
      if (bytes > page_room) return false;
      page_room -= bytes;
    }
  }
  return true;
}

Json ToJson(const std::vector<HugePages>& list) {
  Json out = Json::array();
  for (const HugePages& pages : list)
    out.push_back({{"page_size", pages.page_size.v >> 10}, {"num_pages", pages.count}});
  return out;
}

Json ToJson(const UncoreCache& cache) {
  return {{"id", Raw(cache.id)}, {"size", cache.size.v}, {"type", cache.type}, {"level", cache.level}};
}

Json ToJson(const Core& core) {
  Json threads = Json::array();
  for (CpuId cpu : core.threads) threads.push_back(Raw(cpu));
  Json uncore = Json::array();
  for (const UncoreCache& cache : core.uncore) uncore.push_back(ToJson(cache));
  return {{"core_id", core.core_id},
          {"thread_ids", std::move(threads)},
          {"caches", nullptr},
          {"uncore_caches", std::move(uncore)},
          {"socket_id", Raw(core.socket)}};
}

/// L3 groups that are exactly this node and that no core names as an uncore cache.
Json NodeCaches(const Machine& machine, const NumaNode& node) {
  Json out;
  const CpuSet cpus = CpusOfNode(machine, node.id);
  const bool uncore = std::ranges::any_of(node.cores, [](const Core& core) { return !core.uncore.empty(); });
  if (cpus.empty() || uncore) return out;
  for (const L3Group& group : machine.l3)
    if (group.cpus == cpus)
      out.push_back(ToJson(UncoreCache{.id = group.id, .size = group.size, .type = "Unified", .level = 3}));
  return out;
}

Json ToJson(const Machine& machine, const NumaNode& node) {
  Json cores = Json::array();
  for (const Core& core : node.cores) cores.push_back(ToJson(core));
  return {{"node_id", Raw(node.id)},
          {"memory", node.memory.v},
          {"hugepages", ToJson(node.hugepages)},
          {"cores", std::move(cores)},
          {"caches", NodeCaches(machine, node)},
          {"distances", node.distances}};
}

}  // namespace

Result<Machine> ParseMachineInfo(std::string_view json, std::string source) {
  const std::string what = "MachineInfo " + source;
  Json top;
  try {
    top = Json::parse(json);
  } catch (const Json::exception& e) {
    return Fail(Code::kInvalid, what + ": not JSON: " + Printable(e.what(), 200));
  }
  Machine machine;
  machine.source = std::move(source);
  Reader in;
  if (in.IsObject(top)) {
    if (!top.contains("topology")) in.Wrong("topology is missing: this is not a cAdvisor MachineInfo");
    in.Member(top, "topology", [&](const Json& v) {
      in.Each(v, [&](const Json& node) { machine.nodes.push_back(ReadNode(in, node, machine.l3)); });
    });
  }
  if (!in.failed() && !SumsFit(machine)) in.Wrong("the sum of the nodes' memory is too large");
  if (!in.failed()) {
    DefaultTotals(machine);
    ReadTotals(in, top, machine);
  }
  if (in.failed()) return Fail(Code::kInvalid, what + ": " + in.error());
  if (auto sound = CheckNodes(machine.nodes); !sound) return Wrap(std::move(sound).error(), what);
  for (L3Group& group : L3FromUncore(machine.nodes)) machine.l3.push_back(std::move(group));
  machine.online = UsableCpus(machine);
  machine.present = machine.online;
  SortViews(machine);
  return machine;
}

std::string FormatMachineInfo(const Machine& machine) {
  Json topology = Json::array();
  for (const NumaNode& node : machine.nodes) topology.push_back(ToJson(machine, node));
  const Json top = {{"num_cores", machine.reported_cpus},      {"num_physical_cores", machine.reported_cores},
                    {"num_sockets", machine.reported_sockets}, {"memory_capacity", machine.memory.v},
                    {"hugepages", ToJson(machine.hugepages)},  {"topology", std::move(topology)}};
  return top.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace berth::machine
