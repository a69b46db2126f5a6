// `berth machine`: what a machine is made of, and captures of it.
#ifndef BERTH_CMD_BERTH_MACHINE_COMMAND_H_
#define BERTH_CMD_BERTH_MACHINE_COMMAND_H_

#include <ostream>
#include <string>

#include "view/table.h"

namespace berth::cli {

struct MachineOptions {
  std::string from = "host";     ///< as machine::Load
  std::string output = "table";  ///< table, wide (as table, never cut), json, yaml or machineinfo
  std::string capture;           ///< not empty: save the tree to this file instead of showing it
  view::TableOptions table;
  bool terminal = false;  ///< `out` is one, which must not get the control characters of others
};

/// Shows the machine on `out`, or saves its tree and reads it back to be sure. Errors go to `err`.
/// Gives 0, 1 when the machine cannot be read or saved, 2 for an unknown output.
int RunMachine(const MachineOptions& options, std::ostream& out, std::ostream& err);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_MACHINE_COMMAND_H_
