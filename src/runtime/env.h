// Environment, command and arguments of a container as Kubernetes resolves them. Pure.
#ifndef BERTH_RUNTIME_ENV_H_
#define BERTH_RUNTIME_ENV_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/pod.h"

namespace berth::runtime {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// What a container may ask about its node and about its pod's network.
struct NodeFacts {
  std::string node_name;
  std::vector<std::string> host_ips;  ///< of the node; the first is its hostIP
  std::vector<std::string> pod_ips;   ///< of the pod, likewise; those of the node where it shares the node's network
  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

/// The longest variable (with its name) or argument, and the most of all of them together, that Linux hands to a
/// program (execve(2): MAX_ARG_STRLEN, and three quarters of 8 MiB however large the stack). References can double a
/// value with every variable, so nothing is ever built that is longer.
inline constexpr std::size_t kLongestWord = (std::size_t{128} << 10) - 1;
inline constexpr std::size_t kMostWords = std::size_t{6} << 20;

/// Replaces $(NAME) by lookup(NAME); a name lookup does not know (nullptr) stays as written. "$$" is "$", so "$$(NAME)"
/// is the text "$(NAME)". Anything else after "$" stays as written. Errors: kInvalid when that is longer than
/// kLongestWord.
Result<std::string> ExpandReferences(std::string_view text,
                                     const std::function<const std::string*(std::string_view)>& lookup);

/// Value of a downward API field: metadata.name, metadata.namespace, metadata.uid, metadata.labels['k'],
/// metadata.annotations['k'] (missing key: ""), spec.nodeName, status.hostIP, status.hostIPs, status.podIP,
/// status.podIPs (with commas between them; "" while none is known). Errors: kInvalid naming the path and what is
/// supported.
Result<std::string> FieldValue(const Pod& pod, std::string_view path, const NodeFacts& node);

/// The container's variables in order: values may refer to earlier ones; a repeated name keeps its first place and
/// takes its last value. Errors: kInvalid naming container, variable and field path; also for what no program could be
/// given (kLongestWord, kMostWords).
Result<Environment> ResolveEnv(const Pod& pod, const Container& container, const NodeFacts& node);

/// command and args with references to `env` replaced; the rest of the container is unchanged. Errors: kInvalid naming
/// container and word, for what no program could be given together with `env`.
Result<Container> ExpandCommand(Container container, const Environment& env);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_ENV_H_
