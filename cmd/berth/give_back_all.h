// Uninstall hook of the chart: patches the DaemonSet so that its pods give their nodes back, and waits for them.
#ifndef BERTH_CMD_BERTH_GIVE_BACK_ALL_H_
#define BERTH_CMD_BERTH_GIVE_BACK_ALL_H_

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kubernetes/kube_client/kube_client.h"

namespace berth::cli {

/// First word of its command line, after the program's name; not in the table of commands.
inline constexpr std::string_view kGiveBackAllVerb = "__give-back-all";

struct GiveBackAllOptions {
  std::string namespace_;
  std::string daemon_set;
  std::string patch;  ///< RFC 6902, which makes of the DaemonSet that runs berthd the one that gives back
};

/// Patches the DaemonSet, unless it is patched already, and waits until every node's pod is the new one and available.
/// Success also when there is no such DaemonSet. What the server does not answer is asked again. `pause` lets time pass
/// between two looks; false: it is enough. `out`: how many nodes are given back, whenever that changes.
/// Errors: kPermission and kInvalid of the server; kTimeout after `pause` said so, with the cure.
Result<void> GiveBackAll(kube::Client& client, const GiveBackAllOptions& options, const std::function<bool()>& pause,
                         std::ostream& out);

/// `words` follow the verb: namespace, DaemonSet, patch. As the service account of the pod it is in, for four minutes.
int RunGiveBackAll(const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_GIVE_BACK_ALL_H_
