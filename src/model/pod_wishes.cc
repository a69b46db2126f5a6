#include "model/pod_wishes.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"

namespace berth {
namespace {

constexpr int kMostWishedCpus = 1'000'000;  // more than any machine has
constexpr std::size_t kShownWish = 60;
constexpr std::string_view kOwnPrefix = "berth.dev/";

constexpr std::array<std::pair<ContainerCpuWish::Kind, std::string_view>, 3> kWishKinds{
    {{ContainerCpuWish::Kind::kShared, "shared"},
     {ContainerCpuWish::Kind::kExclusive, "exclusive"},
     {ContainerCpuWish::Kind::kMixed, "mixed"}}};

/// "2 exclusive", "2 exclusive + shared", "shared".
Result<ContainerCpuWish> ParseContainerWish(std::string_view text) {
  const auto bad = [&] {
    return Fail(Code::kInvalid, "\"" + Printable(text, kShownWish) +
                                    "\" is none of \"shared\", \"N exclusive\", \"N exclusive + shared\"");
  };
  ContainerCpuWish out;
  std::string spaced;
  for (const char c : text) spaced += c == '+' ? std::string(" + ") : std::string(1, c);
  const std::vector<std::string_view> words = SplitWords(spaced);
  if (words.size() == 1 && words[0] == "shared") return out;
  const bool mixed = words.size() == 4 && words[2] == "+" && words[3] == "shared";
  if ((words.size() != 2 && !mixed) || words[1] != "exclusive") return bad();
  const auto cpus = ParseDecimal<int>(words[0]);
  if (!cpus || *cpus < 1 || *cpus > kMostWishedCpus) return bad();
  out.kind = mixed ? ContainerCpuWish::Kind::kMixed : ContainerCpuWish::Kind::kExclusive;
  out.cpus = *cpus;
  return out;
}

/// "main=2 exclusive + shared, proxy=shared"; without a name: for those that are not named.
Result<void> ReadContainers(std::string_view text, PodWishes& out) {
  for (const std::string_view part : Split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string_view name = equals == std::string_view::npos ? "" : Trim(part.substr(0, equals));
    if (equals != std::string_view::npos && name.empty())
      return Fail(Code::kInvalid, "a container's name is missing in front of \"=\"");
    BERTH_TRY(const ContainerCpuWish wish,
              ParseContainerWish(Trim(equals == std::string_view::npos ? part : part.substr(equals + 1))));
    if (!out.cpus.emplace(name, wish).second)
      return Fail(Code::kInvalid, name.empty() ? "two parts have no container's name"
                                               : "container \"" + Printable(name, kShownWish) + "\" is named twice");
  }
  return {};
}

/// "main=batch, proxy=web"; without a container's name: for those that are not named.
Result<void> ReadPools(std::string_view text, PodWishes& out) {
  for (const std::string_view part : Split(text, ',')) {
    const std::size_t equals = part.find('=');
    const bool named = equals != std::string_view::npos;
    const std::string_view container = named ? Trim(part.substr(0, equals)) : "";
    const std::string_view pool = Trim(named ? part.substr(equals + 1) : part);
    if (pool.empty() || (named && container.empty()))
      return Fail(Code::kInvalid,
                  "\"" + Printable(Trim(part), kShownWish) + "\" is neither a pool's name nor \"container=pool\"");
    if (!out.pools.emplace(container, pool).second)
      return Fail(Code::kInvalid, container.empty()
                                      ? "two pools have no container's name"
                                      : "container \"" + Printable(container, kShownWish) + "\" is named twice");
  }
  return {};
}

Result<void> ReadChoice(std::string_view text, std::span<const std::string_view> known, std::string& out) {
  if (std::ranges::find(known, text) == known.end()) return Fail(Code::kInvalid, NotAmong(text, known));
  out = text;
  return {};
}

bool Allows(const std::vector<std::string>& patterns, std::string_view word) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) { return MatchesGlob(pattern, word); });
}

std::string NotAllowed(std::string_view what, std::string_view word, const std::vector<std::string>& allowed) {
  return std::string(what) + " " + std::string(word) +
         (allowed.empty() ? " (it allows none)" : " (it allows " + Join(allowed, ", ") + ")");
}

}  // namespace

CpuWishes Over(const CpuWishes& below, const CpuWishes& wishes) {
  CpuWishes out = wishes;
  out.kubelet.insert(below.kubelet.begin(), below.kubelet.end());
  if (!out.numa) out.numa = below.numa;
  if (!out.l3) out.l3 = below.l3;
  if (!out.cores) out.cores = below.cores;
  if (!out.end) out.end = below.end;
  if (!out.kind) out.kind = below.kind;
  if (!out.isolated) out.isolated = below.isolated;
  return out;
}

std::string_view Name(ContainerCpuWish::Kind kind) {
  const auto known = std::ranges::find(kWishKinds, kind, &decltype(kWishKinds)::value_type::first);
  return known == kWishKinds.end() ? "" : known->second;
}

const ContainerCpuWish* PodWishes::Of(std::string_view container) const {
  if (const auto own = cpus.find(container); own != cpus.end()) return &own->second;
  const auto others = cpus.find("");
  return others == cpus.end() ? nullptr : &others->second;
}

std::string_view PodWishes::PoolOf(std::string_view container) const {
  auto found = pools.find(container);
  if (found == pools.end()) found = pools.find("");
  return found == pools.end() ? std::string_view() : found->second;
}

PodWishes ParsePodWishes(const std::map<std::string, std::string>& annotations, std::vector<WishProblem>& problems) {
  constexpr std::string_view kPolicies[] = {"none", "best-effort", "restricted", "single-numa-node"};
  constexpr std::string_view kScopes[] = {"container", "pod"};
  PodWishes out;
  const auto read = [&](std::string_view name, const auto& parse) {
    const auto found = annotations.find(std::string(name));
    if (found == annotations.end()) return;
    if (Result<void> done = parse(Trim(found->second)); !done)
      problems.push_back({std::string(name), std::move(done).error().message});
  };
  if (annotations.lower_bound(std::string(kOwnPrefix)) == annotations.end()) return out;
  read(kTopologyPolicyAnnotation,
       [&](std::string_view text) { return ReadChoice(text, kPolicies, out.topology_policy); });
  read(kTopologyScopeAnnotation, [&](std::string_view text) { return ReadChoice(text, kScopes, out.topology_scope); });
  read(kCpuOptionsAnnotation, [&](std::string_view text) -> Result<void> {
    BERTH_TRY(out.cpu, ParseCpuWishes(text));
    return {};
  });
  read(kCpusAnnotation, [&](std::string_view text) { return ReadContainers(text, out); });
  read(kNumaNodesAnnotation, [&](std::string_view text) -> Result<void> {
    BERTH_TRY(out.numa_nodes, NodeSet::Parse(text));
    if (out.numa_nodes.empty()) return Fail(Code::kInvalid, "names no node: write numbers, as \"1\" or \"0,2-3\"");
    return {};
  });
  read(kPoolAnnotation, [&](std::string_view text) { return ReadPools(text, out); });
  return out;
}

std::vector<WishProblem> UnknownWishes(const std::map<std::string, std::string>& annotations) {
  std::vector<std::string_view> known;
  for (const std::string_view name : kWishAnnotations) known.push_back(name.substr(kOwnPrefix.size()));
  known.push_back(kKeepCpusAnnotation.substr(kOwnPrefix.size()));
  std::vector<WishProblem> out;
  for (const auto& [name, value] : annotations) {
    if (!name.starts_with(kOwnPrefix)) continue;
    const std::string_view own = std::string_view(name).substr(kOwnPrefix.size());
    if (std::ranges::find(known, own) != known.end()) continue;
    std::string text = "unknown annotation, ignored";
    if (const std::string_view near = Nearest(own, known); !near.empty())
      text += "; did you mean \"" + std::string(kOwnPrefix) + std::string(near) + "\"?";
    out.push_back({.annotation = name, .text = std::move(text)});
  }
  return out;
}

std::string FormatCpuWishes(const std::map<std::string, ContainerCpuWish, std::less<>>& cpus) {
  std::vector<std::string> out;
  for (const auto& [container, wish] : cpus) {
    std::string& text = out.emplace_back(container.empty() ? "" : container + "=");
    if (wish.kind != ContainerCpuWish::Kind::kShared) text += std::to_string(wish.cpus) + " exclusive";
    if (wish.kind == ContainerCpuWish::Kind::kMixed) text += " + ";
    if (wish.kind != ContainerCpuWish::Kind::kExclusive) text += "shared";
  }
  return Join(out, ", ");
}

const PodPolicy* FindPolicy(const std::vector<PodPolicy>& policies, std::string_view namespace_) {
  const auto found =
      std::ranges::find_if(policies, [&](const PodPolicy& p) { return Allows(p.namespaces, namespace_); });
  return found == policies.end() ? nullptr : &*found;
}

std::string WhatIsNotAllowed(const PodPolicy& policy, const PodWishes& wishes) {
  if (!wishes.topology_policy.empty() && !Allows(policy.topology_policies, wishes.topology_policy))
    return NotAllowed("topology policy", wishes.topology_policy, policy.topology_policies);
  if (!wishes.topology_scope.empty() && !Allows(policy.topology_scopes, wishes.topology_scope))
    return NotAllowed("topology scope", wishes.topology_scope, policy.topology_scopes);
  for (const std::string& word : WordsOf(wishes.cpu))
    if (!Allows(policy.cpu_options, word)) return NotAllowed("CPU option", word, policy.cpu_options);
  for (const auto& [container, wish] : wishes.cpus)
    if (!Allows(policy.cpus, Name(wish.kind))) return NotAllowed("CPUs that are", Name(wish.kind), policy.cpus);
  for (const NumaId node : wishes.numa_nodes)
    if (const std::string number = std::to_string(Raw(node)); !Allows(policy.numa_nodes, number))
      return NotAllowed("NUMA node", number, policy.numa_nodes);
  return "";
}

/// Backtracks to the last * only: linear in the length of the text for each.
bool MatchesGlob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  for (std::size_t t = 0; t < text.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

}  // namespace berth
