#include "berth/running_node.h"

#include "api/local_api/node_client.h"

namespace berth::cli {

Result<offline::RunningNode> AskRunning(const std::string& socket) {
  const api::NodeClient berthd(socket);
  offline::RunningNode out;
  BERTH_TRY(out.machine, berthd.GetMachine());
  BERTH_TRY(out.view, berthd.Node());
  BERTH_TRY(out.ledger, berthd.GetLedger());
  BERTH_TRY(out.devices, berthd.Devices());
  BERTH_TRY(const DaemonStatus status, berthd.Status());
  out.name = status.node_name;
  return out;
}

}  // namespace berth::cli
