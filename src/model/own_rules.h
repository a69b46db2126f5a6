// Placement options beyond the kubelet's settings: of the choice of CPUs, and what
// pods may ask for by annotation (model/pod_wishes.h). Plain values and their texts: docs/rules/own.md.
#ifndef BERTH_MODEL_OWN_RULES_H_
#define BERTH_MODEL_OWN_RULES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/machine.h"

namespace berth {

/// Which of several that would do: the fullest, or the emptiest.
enum class Fill : std::uint8_t { kPack, kSpread };
/// L3 groups: as Fill, and never more of them than a request needs by its size.
enum class CachePlace : std::uint8_t { kPack, kSpread, kStrict };
/// Which of equal ones: the lowest numbers or the highest.
enum class CpuEnd : std::uint8_t { kLow, kHigh };
/// CPUs that the kernel isolates (isolcpus, nohz_full) for a container with CPUs of its own.
enum class IsolatedCpus : std::uint8_t { kPrefer, kRequire, kAvoid };

/// Options of the choice of CPUs. What is not said is as the settings below it say: a pod's over the node's, these over
/// the kubelet's.
struct CpuWishes {
  std::map<std::string, bool, std::less<>> kubelet;  ///< cpuManagerPolicyOptions that a pod may have of its own
  std::optional<Fill> numa;                          ///< of equally good sets of NUMA nodes
  std::optional<CachePlace> l3;
  std::optional<Fill> cores;
  std::optional<CpuEnd> end;
  std::optional<CoreKind> kind;  ///< not kUniform
  std::optional<IsolatedCpus> isolated;
  bool empty() const { return *this == CpuWishes(); }
  friend bool operator==(const CpuWishes&, const CpuWishes&) = default;
};

/// "l3=strict, end=high, full-pcpus-only": words with commas between them, an option of the kubelet's with "=false" or
/// without. Errors: kInvalid, the word and the nearest there is.
Result<CpuWishes> ParseCpuWishes(std::string_view text);
/// Its words, each as it is allowed by PodPolicy::cpu_options; in one order.
std::vector<std::string> WordsOf(const CpuWishes& wishes);
/// A rule of the settings' podPolicies: what pods of some namespaces may ask for by annotation.
struct PodPolicy {
  std::string name;
  std::vector<std::string> namespaces;  ///< with * and ?
  std::vector<std::string> topology_policies;
  std::vector<std::string> topology_scopes;
  std::vector<std::string> cpu_options;   ///< words as WordsOf has them, with * and ?
  std::vector<std::string> cpus;          ///< "shared", "exclusive", "mixed"
  std::vector<std::string> numa_nodes{};  ///< numbers of nodes, with * and ?
  /// CPUs that all pods admitted under this rule may have for themselves together; nullopt: any number.
  std::optional<std::int64_t> max_cpus;
  std::optional<std::int64_t> max_percent;  ///< the same, of the CPUs that may be exclusive
  friend bool operator==(const PodPolicy&, const PodPolicy&) = default;
};

/// Which threads of a core a named pool has.
enum class PoolThreads : std::uint8_t {
  kAny,
  kWholeCores,  ///< all of them: nobody else runs on its cores
  kOnePerCore,  ///< likewise, and its containers run on one of them; the others are left idle
};
std::string_view Name(PoolThreads threads);  ///< "any", "whole-cores", "one-per-core"

/// One of the settings' cpuPools: rules/pools.
struct PoolRule {
  std::string name;
  std::vector<std::string> namespaces;  ///< whose pods may use it, with * and ?
  CpuWishes cpu{};                      ///< over the node's
  NodeSet numa_nodes{};                 ///< its CPUs are of these; empty: of any
  PoolThreads threads = PoolThreads::kAny;
  std::int64_t min_cpus = 0;               ///< while it is there
  std::optional<std::int64_t> max_cpus{};  ///< that its containers run on; nullopt: any number
  friend bool operator==(const PoolRule&, const PoolRule&) = default;
};
/// nullptr: there is none of that name.
const PoolRule* FindPool(const std::vector<PoolRule>& pools, std::string_view name);

/// Berth's own settings of decisions, beyond the kubelet's.
struct OwnRules {
  CpuWishes cpu;                  ///< of pods that do not say otherwise
  bool isolated_apart = false;    ///< isolated CPUs are for exclusive use alone: not in the shared pool
  std::vector<PodPolicy> pods{};  ///< podPolicies, in order
  std::vector<PoolRule> pools{};  ///< cpuPools, in order
  friend bool operator==(const OwnRules&, const OwnRules&) = default;
};

}  // namespace berth

#endif  // BERTH_MODEL_OWN_RULES_H_
