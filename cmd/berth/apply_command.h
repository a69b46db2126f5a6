// `berth apply` and `berth delete`: manifests to berthd and away again.
#ifndef BERTH_CMD_BERTH_APPLY_COMMAND_H_
#define BERTH_CMD_BERTH_APPLY_COMMAND_H_

#include <string>
#include <vector>

#include "berth/command_context.h"
#include "model/operation_results.h"
#include "model/pod.h"
#include "model/pod_view.h"

namespace berth::cli {

struct WaitOptions {
  bool wait = false;
  int timeout_s = 60;
};

struct ApplyOptions {
  std::vector<std::string> files;  ///< manifests or folders of them; "-": standard input
  bool as_pods = false;            ///< make pods of the templates of Deployments and other workloads
  bool dry_run = false;            ///< only say what would be done
  WaitOptions wait;                ///< until every pod runs or is rejected
};
/// A file that is wrong is reported and the others are taken. kRejected when a pod that was waited for was rejected.
int RunApply(const ApplyOptions& options, const Session& session);

struct DeleteOptions {
  std::vector<std::string> pods;   ///< as ParsePodToChange
  std::vector<std::string> files;  ///< their pods, ConfigMaps and Secrets
  bool all = false;                ///< every pod, or every one of `namespace_`
  std::string selector;            ///< every pod that has these labels, as Selector::Parse; "": none by labels
  std::string namespace_;          ///< of `pods`; with `all` or `selector` only those of it, "": any
  bool as_pods = false;            ///< as ApplyOptions
  WaitOptions wait;                ///< until the pods are gone
};
int RunDelete(const DeleteOptions& options, const Session& session);

/// Until the pod runs as its manifest `wanted` says, ended, cannot be executed or was rejected, or its resize was.
/// `old_uid`: of the pod it replaces, unless that is resized; "" for none.
int AwaitApplied(const StoredPod& stored, const std::string& old_uid, const Pod& wanted, const WaitOptions& options,
                 const Session& session);

/// Says why a pod will not run; the exit status: kRejected when it was not admitted.
int ReportFailed(const PodView& pod, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_APPLY_COMMAND_H_
