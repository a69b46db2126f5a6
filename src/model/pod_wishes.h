// Placement annotations of single pods, and the rules that allow them: docs/rules/own.md.
#ifndef BERTH_MODEL_POD_WISHES_H_
#define BERTH_MODEL_POD_WISHES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/own_rules.h"

namespace berth {

/// `wishes` where they say something, else `below`.
CpuWishes Over(const CpuWishes& below, const CpuWishes& wishes);

/// What a container asks for by annotation, instead of what its QoS class and request come to.
struct ContainerCpuWish {
  enum class Kind : std::uint8_t {
    kShared,     ///< kept off exclusive CPUs
    kExclusive,  ///< `cpus` of its own
    kMixed,      ///< these, and the shared pool beside
  };
  Kind kind = Kind::kShared;
  int cpus = 0;
  friend bool operator==(const ContainerCpuWish&, const ContainerCpuWish&) = default;
};
std::string_view Name(ContainerCpuWish::Kind kind);  ///< "shared", "exclusive", "mixed"

inline constexpr std::string_view kTopologyPolicyAnnotation = "berth.dev/topology-policy";
inline constexpr std::string_view kTopologyScopeAnnotation = "berth.dev/topology-scope";
inline constexpr std::string_view kCpuOptionsAnnotation = "berth.dev/cpu-options";
inline constexpr std::string_view kCpusAnnotation = "berth.dev/cpus";

inline constexpr std::string_view kNumaNodesAnnotation = "berth.dev/numa-nodes";
inline constexpr std::string_view kPoolAnnotation = "berth.dev/pool";

/// All that a pod may ask for of its placement.
inline constexpr std::string_view kWishAnnotations[] = {kTopologyPolicyAnnotation, kTopologyScopeAnnotation,
                                                        kCpuOptionsAnnotation,     kCpusAnnotation,
                                                        kNumaNodesAnnotation,      kPoolAnnotation};

/// Which of its CPUs a container keeps when it is to have so many; "main=2-3;side=5".
inline constexpr std::string_view kKeepCpusAnnotation = "berth.dev/keep-cpus";

/// What a pod asks for by these annotations.
struct PodWishes {
  std::string topology_policy;  ///< as the KubeletConfiguration names them; "": the node's
  std::string topology_scope;   ///< likewise
  CpuWishes cpu;
  /// By container; under "" for those that are not named.
  std::map<std::string, ContainerCpuWish, std::less<>> cpus;
  NodeSet numa_nodes{};  ///< its CPUs and memory are to be of these; empty: of any
  /// Named pools its containers are to run in, by container; under "" for those that are not named.
  std::map<std::string, std::string, std::less<>> pools{};
  bool empty() const { return *this == PodWishes(); }
  /// nullptr: nothing is asked for this one.
  const ContainerCpuWish* Of(std::string_view container) const;
  /// The pool this one is to run in; "": none.
  std::string_view PoolOf(std::string_view container) const;
  friend bool operator==(const PodWishes&, const PodWishes&) = default;
};

/// An annotation that cannot be understood.
struct WishProblem {
  std::string annotation;
  std::string text;  ///< what is wrong with its value, and the cure
  friend bool operator==(const WishProblem&, const WishProblem&) = default;
};

/// What of `annotations` asks for something. Annotations of others are passed over; an unknown one that begins like
/// them is none of ours either.
PodWishes ParsePodWishes(const std::map<std::string, std::string>& annotations, std::vector<WishProblem>& problems);
/// Those that begin like Berth's own and are none of them, with the nearest that there is: "unknown annotation,
/// ignored; did you mean "berth.dev/cpus"?".
std::vector<WishProblem> UnknownWishes(const std::map<std::string, std::string>& annotations);
/// PodWishes::cpus as the annotation has it: "main=2 exclusive + shared, proxy=shared".
std::string FormatCpuWishes(const std::map<std::string, ContainerCpuWish, std::less<>>& cpus);

/// The first rule whose namespaces `namespace_` is among; nullptr: none.
const PodPolicy* FindPolicy(const std::vector<PodPolicy>& policies, std::string_view namespace_);

/// The first thing asked for that the rule does not allow, as "topology policy restricted (it allows ...)"; "": none.
std::string WhatIsNotAllowed(const PodPolicy& policy, const PodWishes& wishes);

/// `text` matches `pattern`: * any characters, ? one, the others themselves.
bool MatchesGlob(std::string_view pattern, std::string_view text);

}  // namespace berth

#endif  // BERTH_MODEL_POD_WISHES_H_
