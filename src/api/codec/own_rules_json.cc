// Berth's own settings of decisions, as snapshots and published states carry them.
#include "api/codec/json_parts.h"
#include "base/text.h"

namespace berth::codec {
namespace {

Json PolicyJson(const PodPolicy& policy) {
  Json out = {{"name", policy.name},
              {"namespaces", policy.namespaces},
              {"topologyPolicies", policy.topology_policies},
              {"topologyScopes", policy.topology_scopes},
              {"cpuOptions", policy.cpu_options},
              {"cpus", policy.cpus}};
  if (!policy.numa_nodes.empty()) out["numaNodes"] = policy.numa_nodes;
  if (policy.max_cpus) out["maxCpus"] = *policy.max_cpus;
  if (policy.max_percent) out["maxPercent"] = *policy.max_percent;
  return out;
}

PodPolicy ReadPolicy(const Reader& reader) {
  PodPolicy out;
  out.name = reader.Field("name").String();
  out.namespaces = reader.Field("namespaces").Strings();
  out.topology_policies = reader.Field("topologyPolicies").Strings();
  out.topology_scopes = reader.Field("topologyScopes").Strings();
  out.cpu_options = reader.Field("cpuOptions").Strings();
  out.cpus = reader.Field("cpus").Strings();
  if (reader.Has("numaNodes")) out.numa_nodes = reader.Field("numaNodes").Strings();
  if (reader.Has("maxCpus")) out.max_cpus = reader.Field("maxCpus").Integer<std::int64_t>();
  if (reader.Has("maxPercent")) out.max_percent = reader.Field("maxPercent").Integer<std::int64_t>();
  return out;
}

Json PoolJson(const PoolRule& pool) {
  Json out = {{"name", pool.name},
              {"namespaces", pool.namespaces},
              {"cpuOptions", Join(WordsOf(pool.cpu), ", ")},
              {"smt", Name(pool.threads)},
              {"minCpus", pool.min_cpus}};
  if (!pool.numa_nodes.empty()) out["numaNodes"] = FormatIds(pool.numa_nodes);
  if (pool.max_cpus) out["maxCpus"] = *pool.max_cpus;
  return out;
}

CpuWishes ReadCpuWishes(const Reader& reader) {
  auto out = ParseCpuWishes(reader.String());
  if (!out) reader.Note(out.error().message);
  return out ? *std::move(out) : CpuWishes();
}

PoolRule ReadPool(const Reader& reader) {
  PoolRule out;
  out.name = reader.Field("name").String();
  out.namespaces = reader.Field("namespaces").Strings();
  out.cpu = ReadCpuWishes(reader.Field("cpuOptions"));
  out.threads = reader.Field("smt").OneOf({PoolThreads::kAny, PoolThreads::kWholeCores, PoolThreads::kOnePerCore});
  out.min_cpus = reader.Field("minCpus").Integer<std::int64_t>();
  if (reader.Has("numaNodes")) out.numa_nodes = reader.Field("numaNodes").Ids<NodeSet>();
  if (reader.Has("maxCpus")) out.max_cpus = reader.Field("maxCpus").Integer<std::int64_t>();
  return out;
}

}  // namespace

void PutOwnRules(Json& out, const OwnRules& rules) {
  if (rules == OwnRules()) return;
  out["own"] = {{"cpuOptions", Join(WordsOf(rules.cpu), ", ")},
                {"isolatedApart", rules.isolated_apart},
                {"podPolicies", ListJson(rules.pods, PolicyJson)}};
  if (!rules.pools.empty()) out["own"]["cpuPools"] = ListJson(rules.pools, PoolJson);
}

OwnRules ReadOwnRules(const Reader& of) {
  OwnRules out;
  if (!of.Has("own")) return out;
  const Reader reader = of.Field("own");
  out.cpu = ReadCpuWishes(reader.Field("cpuOptions"));
  out.isolated_apart = reader.Field("isolatedApart").Bool();
  for (const Reader& policy : reader.Field("podPolicies").Items()) out.pods.push_back(ReadPolicy(policy));
  if (reader.Has("cpuPools"))
    for (const Reader& pool : reader.Field("cpuPools").Items()) out.pools.push_back(ReadPool(pool));
  return out;
}

}  // namespace berth::codec
