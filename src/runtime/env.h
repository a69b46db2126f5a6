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

/// What a container may ask about its node. Processes share the host's network, hence the loopback defaults.
struct NodeFacts {
  std::string node_name;
  std::string host_ip = "127.0.0.1";
  std::string pod_ip = "127.0.0.1";
};

/// Replaces $(NAME) by lookup(NAME); a name lookup does not know stays as written. "$$" is "$", so "$$(NAME)" is the
/// text "$(NAME)". Anything else after "$" stays as written.
std::string ExpandReferences(std::string_view text,
                             const std::function<std::optional<std::string>(std::string_view)>& lookup);

/// Value of a downward API field: metadata.name, metadata.namespace, metadata.uid, metadata.labels['k'],
/// metadata.annotations['k'] (missing key: ""), spec.nodeName, status.hostIP, status.hostIPs, status.podIP,
/// status.podIPs. Errors: kInvalid naming the path and what is supported.
Result<std::string> FieldValue(const Pod& pod, std::string_view path, const NodeFacts& node);

/// The container's variables in order: values may refer to earlier ones; a repeated name keeps its first place and
/// takes its last value. Errors: kInvalid naming container, variable and field path.
Result<Environment> ResolveEnv(const Pod& pod, const Container& container, const NodeFacts& node);

/// command and args with references to `env` replaced; the rest of the container is unchanged.
Container ExpandCommand(Container container, const Environment& env);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_ENV_H_
