// Command line of a berthd that plays a machine, all of whose files are below one folder.
#ifndef BERTH_DAEMON_PLAYED_LINE_TEST_H_
#define BERTH_DAEMON_PLAYED_LINE_TEST_H_

#include <string>
#include <utility>

#include "daemon/settings.h"
#include "testing/fixtures.h"

namespace berth::daemon {

inline CommandLine PlayedLine(const testkit::TempDir& temp, std::string machine = "pack:1 core:4 pu:1") {
  CommandLine line;
  line.machine = std::move(machine);
  line.pod_dir = temp / "pods";
  line.state_dir = temp / "state";
  line.run_dir = temp / "run";
  line.log_dir = temp / "log";
  line.socket = temp / "berth.sock";
  line.node_name = "n1";
  return line;
}

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_PLAYED_LINE_TEST_H_
