// Environment, command and arguments of a container as Kubernetes resolves them. Pure.
#ifndef BERTH_RUNTIME_LIFECYCLE_ENV_H_
#define BERTH_RUNTIME_LIFECYCLE_ENV_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "model/document.h"
#include "model/pod.h"

namespace berth::runtime {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// What a container may ask about its node and about its pod's network.
struct NodeFacts {
  std::string node_name;
  std::vector<std::string> host_ips;  ///< of the node; the first is its hostIP
  std::vector<std::string> pod_ips;   ///< of the pod, likewise; those of the node where it shares the node's network
  ResourceList allocatable;           ///< what stands for a limit that a container does not have
  std::shared_ptr<const ConfigDocuments> documents;  ///< nullptr: there are none
  friend bool operator==(const NodeFacts&, const NodeFacts&) = default;
};

/// The longest variable (with its name) or argument, and the most of all of them together, that Linux hands to a
/// program (execve(2): MAX_ARG_STRLEN, and three quarters of 8 MiB however large the stack). References can double a
/// value with every variable, so nothing is ever built that is longer.
inline constexpr std::size_t kLongestWord = (std::size_t{128} << 10) - 1;
inline constexpr std::size_t kMostWords = std::size_t{6} << 20;
/// The same of all containers of a pod together, init containers among them: a pod of many containers is not given many
/// times what one may have. Berth's own bound: records of them lie in the run directory, which is memory.
inline constexpr std::size_t kMostPodWords = std::size_t{8} << 20;

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

/// An amount of the container `field` names, or of `own`, in whole divisors, rounded up as a kubelet does. A missing
/// request is 0, a missing limit what the node has to give. Errors: kInvalid where the node does not say.
Result<std::string> AmountValue(const Pod& pod, const Container* own, const ResourceField& field,
                                const NodeFacts& node);

/// A document of the pod's namespace. Errors: kNotFound, as the kubelet words it: "configmap \"app\" not found".
Result<std::shared_ptr<const ConfigDocument>> FindDocument(const NodeFacts& node, const Pod& pod, DocumentKind kind,
                                                           const std::string& name);
/// "couldn't find key k in ConfigMap default/app".
Error NoSuchKey(const ConfigDocument& document, const std::string& key);

/// The container's variables in order, those of whole documents first: values may refer to earlier ones; a repeated
/// name keeps its first place and takes its last value. Errors: kNotFound for a document or key that is not there and
/// not optional; kInvalid naming container, variable and field path; also for what no program could be given
/// (kLongestWord, kMostWords, NUL bytes). None quotes a value of a document.
Result<Environment> ResolveEnv(const Pod& pod, const Container& container, const NodeFacts& node);

/// command and args with references to `env` replaced; the rest of the container is unchanged. Errors: kInvalid naming
/// container and word, for what no program could be given together with `env`.
Result<Container> ExpandCommand(Container container, const Environment& env);

/// Whether variables, commands and arguments of all its containers come to kMostPodWords at most. Containers whose own
/// cannot be resolved count for nothing. Stops where there is too much. Errors: kInvalid with the cure.
Result<void> CheckPodWords(const Pod& pod, const NodeFacts& node);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_LIFECYCLE_ENV_H_
