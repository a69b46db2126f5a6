#include <string>

#include "api/codec/codec.h"
#include "api/codec/reader.h"

namespace berth::codec {
namespace {

std::string_view KindName(CoreKind kind) {
  switch (kind) {
    case CoreKind::kUniform: return "uniform";
    case CoreKind::kPerformance: return "performance";
    case CoreKind::kEfficiency: return "efficiency";
  }
  return "uniform";
}

CoreKind ReadKind(const Reader& reader) {
  const std::string name = reader.String();
  for (const CoreKind kind : {CoreKind::kUniform, CoreKind::kPerformance, CoreKind::kEfficiency})
    if (name == KindName(kind)) return kind;
  reader.Note("unknown kind of core \"" + name + "\"");
  return CoreKind::kUniform;
}

Json HugePagesJson(const std::vector<HugePages>& pages) {
  Json out = Json::array();
  for (const HugePages& p : pages) out.push_back({{"pageSize", p.page_size.v}, {"count", p.count}});
  return out;
}

std::vector<HugePages> ReadHugePages(const Reader& reader) {
  std::vector<HugePages> out;
  for (const Reader& item : reader.Items())
    out.push_back({item.Field("pageSize").Size(), item.Field("count").Integer<std::int64_t>()});
  return out;
}

Json CoreJson(const Core& core) {
  Json threads = Json::array();
  for (const CpuId cpu : core.threads) threads.push_back(Raw(cpu));
  Json caches = Json::array();
  for (const UncoreCache& c : core.uncore)
    caches.push_back({{"id", Raw(c.id)}, {"size", c.size.v}, {"type", c.type}, {"level", c.level}});
  return {{"coreId", core.core_id},        {"socket", Raw(core.socket)},  {"die", Raw(core.die)},
          {"threads", std::move(threads)}, {"kind", KindName(core.kind)}, {"uncoreCaches", std::move(caches)}};
}

Core ReadCore(const Reader& reader) {
  Core core;
  core.core_id = reader.Field("coreId").Integer<std::uint32_t>();
  core.socket = SocketId{reader.Field("socket").Integer<std::uint32_t>()};
  core.die = DieId{reader.Field("die").Integer<std::uint32_t>()};
  for (const Reader& cpu : reader.Field("threads").Items()) core.threads.push_back(cpu.IdInSet<CpuId>());
  if (core.threads.empty()) reader.Note("a core needs at least one thread");
  core.kind = ReadKind(reader.Field("kind"));
  for (const Reader& c : reader.Field("uncoreCaches").Items())
    core.uncore.push_back({CacheId{c.Field("id").Integer<std::uint32_t>()}, c.Field("size").Size(),
                           c.Field("type").String(), c.Field("level").Integer<int>()});
  return core;
}

Json NodeJson(const NumaNode& node) {
  Json cores = Json::array();
  for (const Core& core : node.cores) cores.push_back(CoreJson(core));
  return {{"id", Raw(node.id)},
          {"memory", node.memory.v},
          {"hugepages", HugePagesJson(node.hugepages)},
          {"distances", node.distances},
          {"cores", std::move(cores)}};
}

NumaNode ReadNode(const Reader& reader) {
  NumaNode node;
  node.id = reader.Field("id").IdInSet<NumaId>();
  node.memory = reader.Field("memory").Size();
  node.hugepages = ReadHugePages(reader.Field("hugepages"));
  for (const Reader& d : reader.Field("distances").Items()) node.distances.push_back(d.Integer<unsigned>());
  for (const Reader& core : reader.Field("cores").Items()) node.cores.push_back(ReadCore(core));
  return node;
}

Json PciJson(const PciDevice& pci) {
  return {{"address", pci.address},
          {"class", pci.class_id},
          {"vendor", pci.vendor},
          {"device", pci.device},
          {"name", pci.name},
          {"node", pci.node ? Json(Raw(*pci.node)) : Json()},
          {"localCpus", FormatIds(pci.local_cpus)},
          {"above", pci.above}};
}

PciDevice ReadPci(const Reader& reader) {
  PciDevice pci;
  pci.address = reader.Field("address").String();
  pci.class_id = reader.Field("class").Integer<std::uint32_t>();
  pci.vendor = reader.Field("vendor").Integer<std::uint16_t>();
  pci.device = reader.Field("device").Integer<std::uint16_t>();
  pci.name = reader.Field("name").String();
  if (const Reader node = reader.Field("node"); !node.IsNull()) pci.node = node.IdInSet<NumaId>();
  pci.local_cpus = reader.Field("localCpus").Ids<CpuSet>();
  if (reader.Has("above")) pci.above = reader.Field("above").Strings();
  return pci;
}

}  // namespace

Json ToJson(const Machine& machine) {
  Json nodes = Json::array();
  for (const NumaNode& node : machine.nodes) nodes.push_back(NodeJson(node));
  Json l3 = Json::array();
  for (const L3Group& group : machine.l3)
    l3.push_back({{"id", Raw(group.id)}, {"size", group.size.v}, {"cpus", FormatIds(group.cpus)}});
  Json pci = Json::array();
  for (const PciDevice& device : machine.pci) pci.push_back(PciJson(device));
  return {{"source", machine.source},
          {"thisHost", machine.this_host},
          {"bootId", machine.boot_id},
          {"present", FormatIds(machine.present)},
          {"online", FormatIds(machine.online)},
          {"isolated", FormatIds(machine.isolated)},
          {"nohzFull", FormatIds(machine.nohz_full)},
          {"memory", machine.memory.v},
          {"hugepages", HugePagesJson(machine.hugepages)},
          {"reportedCpus", machine.reported_cpus},
          {"reportedSockets", machine.reported_sockets},
          {"reportedCores", machine.reported_cores},
          {"nodes", std::move(nodes)},
          {"l3", std::move(l3)},
          {"pci", std::move(pci)}};
}

Result<Machine> MachineFromJson(const Json& json) {
  Reader::Problem problem{.code = Code::kInvalid, .error = {}};
  const Reader reader(json, "", problem);
  Machine m;
  m.source = reader.Field("source").String();
  m.this_host = reader.Field("thisHost").Bool();
  m.boot_id = reader.Field("bootId").String();
  m.present = reader.Field("present").Ids<CpuSet>();
  m.online = reader.Field("online").Ids<CpuSet>();
  m.isolated = reader.Field("isolated").Ids<CpuSet>();
  m.nohz_full = reader.Field("nohzFull").Ids<CpuSet>();
  m.memory = reader.Field("memory").Size();
  m.hugepages = ReadHugePages(reader.Field("hugepages"));
  m.reported_cpus = reader.Field("reportedCpus").Integer<int>();
  m.reported_sockets = reader.Field("reportedSockets").Integer<int>();
  m.reported_cores = reader.Field("reportedCores").Integer<int>();
  for (const Reader& node : reader.Field("nodes").Items()) m.nodes.push_back(ReadNode(node));
  for (const Reader& group : reader.Field("l3").Items())
    m.l3.push_back({CacheId{group.Field("id").Integer<std::uint32_t>()}, group.Field("size").Size(),
                    group.Field("cpus").Ids<CpuSet>()});
  for (const Reader& device : reader.Field("pci").Items()) m.pci.push_back(ReadPci(device));
  if (problem.error) return Wrap(*std::move(problem.error), "machine");
  return m;
}

}  // namespace berth::codec
