// Whom a probe or a hook asks: its fields with ports, addresses and defaults in place. Pure.
#ifndef BERTH_FRONTEND_PROBES_TARGET_H_
#define BERTH_FRONTEND_PROBES_TARGET_H_

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "model/pod.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::probes {

struct HttpTarget {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;  ///< the kubelet's where the manifest has none of that name
  bool any_status = false;                                   ///< an answer is enough, whatever it says
  /// A server that answers https in plain HTTP is asked once more that way (WithoutTls).
  bool plain_if_no_tls = false;
};
struct TcpTarget {
  std::string host;
  std::string port;
};
struct GrpcTarget {
  std::string host;
  std::string port;
  std::string service;
};
/// A command in a container, ready to be run.
struct ExecTarget {
  runtime::ExecJob job;
};
using Target = std::variant<HttpTarget, TcpTarget, GrpcTarget, ExecTarget>;

/// `address`: the pod's. Errors: kInvalid: the port is no number and no name of one of the container's, or the pod has
/// no address yet.
/// `agent`: who asks, unless the manifest says it; some programs answer a kubelet without asking for a login.
inline constexpr std::string_view kProbeAgent = "kube-probe/1.36";
inline constexpr std::string_view kHookAgent = "kube-lifecycle/1.36";
Result<HttpTarget> TargetOf(const HttpCheck& check, const Container& container, const std::string& address,
                            std::string_view agent = kProbeAgent);
/// The same over http, and without its Authorization. Requires: https.
HttpTarget WithoutTls(HttpTarget target);
Result<TcpTarget> TargetOf(const TcpCheck& check, const Container& container, const std::string& address);
Result<GrpcTarget> TargetOf(const GrpcCheck& check, const Container& container, const std::string& address);

}  // namespace berth::probes

#endif  // BERTH_FRONTEND_PROBES_TARGET_H_
