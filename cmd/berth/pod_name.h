// Pod lookup by the name on a command line: whole names where a pod is changed, prefixes where it is read.
#ifndef BERTH_CMD_BERTH_POD_NAME_H_
#define BERTH_CMD_BERTH_POD_NAME_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "berth/command_context.h"
#include "model/pod_view.h"

namespace berth::cli {

/// The pod of `pods` that `given` means, to read about it: NAMESPACE/NAME, NAME in any namespace, either without the
/// "-<node>" at the end that static pods get, or the beginning of exactly one name. Errors: kNotFound with the nearest
/// name, kInvalid listing the candidates when there are several.
Result<std::shared_ptr<const PodView>> PickPod(const PodList& pods, std::string_view given, std::string_view node_name);

/// The same, by a whole name only. Errors: as PickPod, without a nearest name.
Result<std::shared_ptr<const PodView>> PickNamedPod(const PodList& pods, std::string_view given,
                                                    std::string_view node_name);

/// A pod that a command changes.
struct PodToChange {
  std::string namespace_;
  std::string name;          ///< whole: the pod's, or without the "-<node>" at its end
  bool by_manifest = false;  ///< only the latter
};
/// `given` is NAME or NAMESPACE/NAME; `namespace_` is the one asked for with -n, "" for default.
/// Errors: kInvalid when they name different ones.
Result<PodToChange> ParsePodToChange(std::string_view given, std::string_view namespace_);

/// The pod of that whole name. Errors: kNotFound with what was perhaps meant; kInvalid when it is one static
/// pod's name and the name of another one's manifest; a pod that is not static has its name for itself.
Result<std::shared_ptr<const PodView>> PickPodToChange(const PodList& pods, const PodToChange& wanted,
                                                       std::string_view node_name);

/// The same of one namespace. Errors: as PickPod; kNotFound with a pod of another namespace that was perhaps meant.
Result<std::shared_ptr<const PodView>> PickPodOf(const PodList& pods, std::string_view given,
                                                 const std::string& namespace_, std::string_view node_name);

/// Asks berthd for its pods and picks one to read about, of `namespace_` unless that is "". Errors: as PickPodOf and
/// api::NodeClient.
Result<std::shared_ptr<const PodView>> FindPod(const Session& session, const std::string& given,
                                               const std::string& namespace_);

/// The same for a pod that is changed. Errors: as PickPodToChange and api::NodeClient.
Result<std::shared_ptr<const PodView>> FindPodToChange(const Session& session, const PodToChange& wanted);
/// Errors: those of ParsePodToChange too.
Result<std::shared_ptr<const PodView>> FindPodToChange(const Session& session, std::string_view given,
                                                       std::string_view namespace_);

/// The container of a pod that is meant: the one asked for, or the only one that is not an init container.
/// Errors: kInvalid, kNotFound with what there is.
Result<std::string> PickContainer(const PodView& pod, const std::string& asked);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_POD_NAME_H_
