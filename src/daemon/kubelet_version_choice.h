// The kubelet version to decide as where Berth's settings name none: rules/versions#which-version.
#ifndef BERTH_DAEMON_KUBELET_VERSION_CHOICE_H_
#define BERTH_DAEMON_KUBELET_VERSION_CHOICE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/os/clock.h"
#include "model/kubelet_version.h"

namespace berth::daemon {

struct KubeletVersionChoice {
  KubeletVersion version = kDefaultKubeletVersion;
  std::string from;     ///< who tells, for people
  bool certain = true;  ///< false: one that knows better did not answer
};

/// Who may tell of this node's kubelet, the best first.
struct KubeletVersionSources {
  std::function<Result<std::string>()> node;     ///< AskNodesKubelet; null: no API server is asked
  std::function<Result<std::string>()> program;  ///< AskKubeletProgram; null: no program is asked
  std::string kubelet_dir;                       ///< with its state files; "": they are not looked at
};
/// A source that fails is passed over, and named in `from`; that no kubelet is installed is no failure.
KubeletVersionChoice ChooseKubeletVersion(const KubeletVersionSources& sources);

/// Of what a kubelet calls itself, "v1.37.2": one that Berth does not know counts as the nearest that it does. nullopt:
/// that is no version.
std::optional<KubeletVersion> NearestKubeletVersion(std::string_view reported);

/// What the API server's Node says its kubelet is. `kubeconfig` as kube::LoadOwnAccess takes it. Waits `limit` at
/// most. Errors: of kube::LoadOwnAccess and kube::Client; kInvalid: it says none.
Result<std::string> AskNodesKubelet(const std::string& kubeconfig, const std::string& node_name, os::Millis limit);

/// What the program kubelet in `search_path` (as os::ProcessSpec has it; "": the usual folders) says it is, asked with
/// --version. Waits `limit` at most. Errors: of os::Spawn; kNotFound: there is none; kInvalid: it says something else,
/// or nothing in that time.
Result<std::string> AskKubeletProgram(const std::string& search_path, os::Millis limit);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_KUBELET_VERSION_CHOICE_H_
