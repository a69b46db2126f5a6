#include "config/own_rules_reader.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/name_validation.h"
#include "base/text.h"
#include "model/pod_wishes.h"

namespace berth::config {
namespace {

using manifest::Node;
using manifest::Object;
using manifest::Path;
using manifest::ReadWord;
using manifest::UnsupportedValue;
using manifest::Words;

constexpr std::int64_t kMostPercent = 100;
constexpr std::int64_t kMostRuleCpus = 1'000'000;

/// Each is one of `words`, or has a * or ? that could match some.
void CheckPatterns(Object& object, std::string_view key, const std::vector<std::string>& patterns, Words words) {
  for (const std::string& pattern : patterns)
    if (std::ranges::none_of(words, [&](std::string_view word) { return MatchesGlob(pattern, word); }))
      object.report().Problem(object.PathOf(key), UnsupportedValue(pattern, words));
}

/// "8" or 8: CPUs; "25%": of those that may be exclusive.
void ReadMost(Object& object, PodPolicy& out) {
  const Node* const node = object.Take("maxCpus");
  if (node == nullptr) return;
  const std::string_view text = Trim(node->text);
  const bool percent = text.ends_with('%');
  const auto amount = ParseDecimal<std::int64_t>(percent ? Trim(text.substr(0, text.size() - 1)) : text);
  const bool scalar = node->kind == Node::Kind::kNumber || node->kind == Node::Kind::kString;
  if (!scalar || !amount || *amount < 0 || *amount > (percent ? kMostPercent : kMostRuleCpus)) {
    object.report().Problem(object.PathOf("maxCpus"),
                            InvalidValue(Printable(text, 40), "must be a number of CPUs, or a share such as \"25%\""));
    return;
  }
  (percent ? out.max_percent : out.max_cpus) = amount;
}

PodPolicy ReadPolicy(Object& object) {
  PodPolicy out;
  object.Read("name", out.name);
  object.Read("namespaces", out.namespaces);
  object.Read("topologyPolicies", out.topology_policies);
  object.Read("topologyScopes", out.topology_scopes);
  object.Read("cpuOptions", out.cpu_options);
  object.Read("cpus", out.cpus);
  object.Read("numaNodes", out.numa_nodes);
  ReadMost(object, out);
  object.Finish();
  if (std::string bad = CheckLabelName(out.name); !bad.empty())
    object.report().Problem(object.PathOf("name"), std::move(bad));
  if (out.namespaces.empty())
    object.report().Problem(object.PathOf("namespaces"), "Required value: [\"*\"] stands for all of them");
  CheckPatterns(object, "topologyPolicies", out.topology_policies,
                {"none", "best-effort", "restricted", "single-numa-node"});
  CheckPatterns(object, "topologyScopes", out.topology_scopes, {"container", "pod"});
  CheckPatterns(object, "cpus", out.cpus, {"shared", "exclusive", "mixed"});
  for (const std::string& pattern : out.numa_nodes)
    if (pattern.find_first_not_of("0123456789*?") != std::string::npos || pattern.empty())
      object.report().Problem(object.PathOf("numaNodes"),
                              InvalidValue(Printable(pattern, 40), "must be the number of a NUMA node, or \"*\""));
  for (const std::string& pattern : out.cpu_options)
    if (pattern.find_first_of("*?") == std::string::npos)
      if (const auto known = ParseCpuWishes(pattern); !known)
        object.report().Problem(object.PathOf("cpuOptions"), "Invalid value: " + known.error().message);
  return out;
}

void ReadCpuOptions(Object& object, CpuWishes& out) {
  std::string options;
  object.Read("cpuOptions", options);
  if (auto parsed = ParseCpuWishes(options))
    out = *std::move(parsed);
  else
    object.report().Problem(object.PathOf("cpuOptions"), "Invalid value: " + parsed.error().message);
}

void CheckCpus(Object& object, std::string_view key, std::int64_t count, std::int64_t least) {
  if (count < least || count > kMostRuleCpus)
    object.report().Problem(object.PathOf(key), InvalidValue(std::to_string(count), "must be a number of CPUs"));
}

PoolRule ReadPool(Object& object) {
  PoolRule out;
  object.Read("name", out.name);
  object.Read("namespaces", out.namespaces);
  ReadCpuOptions(object, out.cpu);
  std::string nodes;
  object.Read("numaNodes", nodes);
  std::string smt = "any";
  ReadWord(object, "smt", {"any", "whole-cores", "one-per-core"}, smt);
  object.Read("minCpus", out.min_cpus);
  object.Read("maxCpus", out.max_cpus);
  object.Finish();
  if (std::string bad = CheckLabelName(out.name); !bad.empty())
    object.report().Problem(object.PathOf("name"), std::move(bad));
  if (out.namespaces.empty())
    object.report().Problem(object.PathOf("namespaces"), "Required value: [\"*\"] stands for all of them");
  for (const PoolThreads threads : {PoolThreads::kWholeCores, PoolThreads::kOnePerCore})
    if (Name(threads) == smt) out.threads = threads;
  if (auto parsed = NodeSet::Parse(nodes))
    out.numa_nodes = *std::move(parsed);
  else
    object.report().Problem(object.PathOf("numaNodes"),
                            InvalidValue(Printable(nodes, 40), "must be numbers of NUMA nodes, as \"0,2-3\""));
  CheckCpus(object, "minCpus", out.min_cpus, 0);
  if (out.max_cpus) CheckCpus(object, "maxCpus", *out.max_cpus, 1);
  if (out.max_cpus && *out.max_cpus < out.min_cpus)
    object.report().Problem(object.PathOf("maxCpus"),
                            InvalidValue(std::to_string(*out.max_cpus), "must not be less than minCpus"));
  return out;
}

}  // namespace

void ReadOwnRules(Object& object, OwnRules& out) {
  ReadCpuOptions(object, out.cpu);
  std::string isolated = "pool";
  ReadWord(object, "isolatedCpus", {"pool", "exclusive"}, isolated);
  out.isolated_apart = isolated == "exclusive";
  object.Each("podPolicies", [&](const Node& node, const Path& path) {
    Object item(node, path, object.report());
    PodPolicy policy = ReadPolicy(item);
    if (std::ranges::find(out.pods, policy.name, &PodPolicy::name) != out.pods.end())
      object.report().Problem(path, InvalidValue(Printable(policy.name, 63), "another rule has this name"));
    out.pods.push_back(std::move(policy));
  });
  object.Each("cpuPools", [&](const Node& node, const Path& path) {
    Object item(node, path, object.report());
    PoolRule pool = ReadPool(item);
    if (FindPool(out.pools, pool.name) != nullptr)
      object.report().Problem(path, InvalidValue(Printable(pool.name, 63), "another pool has this name"));
    out.pools.push_back(std::move(pool));
  });
}

}  // namespace berth::config
