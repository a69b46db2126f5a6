// berth state: what is written down about a node. Shows it, checks it, and takes it from and gives it to a kubelet.
#ifndef BERTH_CMD_BERTH_STATE_COMMAND_H_
#define BERTH_CMD_BERTH_STATE_COMMAND_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "berth/command_context.h"
#include "model/kubelet_version.h"
#include "model/ledger.h"

namespace berth::cli {

struct StateOptions {
  std::string action;              ///< show, verify, import, export
  std::vector<std::string> files;  ///< show, verify: state files or folders with them; "": see state_dir
  std::string state_dir;           ///< "": the running berthd for show, verify, export; its usual place for import
  std::string kubelet_dir = "/var/lib/kubelet";
  std::string to;                                          ///< export: folder
  KubeletVersion kubelet_version = KubeletVersion::k1_36;  ///< export: whose file formats
  std::string cgroup_root = "/";                           ///< import: where pods run; "none": do not look
  bool force = false;                                      ///< import: replace a ledger that has pods
};

int RunState(const StateOptions& options, const Session& session);

// For the actions' own files.
int RunStateVerify(const StateOptions& options, const Session& session);
int RunStateImport(const StateOptions& options, const Session& session);
int RunStateExport(const StateOptions& options, const Session& session);

/// What was looked at and what is wrong with it.
struct Checked {
  std::string what;
  std::string summary;              ///< when all is in order
  std::vector<std::string> broken;  ///< a sentence each
};
/// Every promise of the running node, looked at twice where one seems broken. Errors: as api::NodeClient, and of
/// reading cgroups.
Result<std::vector<Checked>> CheckNode(const Session& session);

/// A ledger from a file of any kind: Berth's own, or one of the kubelet's. Errors: kCorrupt: damaged; kUnsupported:
/// whole, but of another version; kNotFound, kPermission, kIo.
Result<Ledger> ReadStateFile(const std::string& file);
/// The ledger in force: of `state_dir`, or the running berthd's when that is empty.
Result<Ledger> LedgerInForce(const std::string& state_dir, const Session& session);
/// The ledger as a table.
void PrintLedger(const Ledger& ledger, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_STATE_COMMAND_H_
