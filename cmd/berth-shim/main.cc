// berth-shim: the supervisor berthd puts beside each container it runs as a process. Not meant to be started by hand.
#include <fcntl.h>

#include <cstdio>
#include <string_view>

#include "runtime/process/shim.h"

namespace {

constexpr int kSocket = 3;  // set up by the daemon

constexpr const char* kHelp =
    "usage: berth-shim DIRECTORY\n"
    "\n"
    "Supervises one container for berthd: starts its process in its cgroup, writes its log, records how it ended.\n"
    "berthd starts it with a socket as descriptor 3; it is of no use by hand.\n";

}  // namespace

int main(int argc, char** argv) {
  const std::string_view word = argc == 2 ? argv[1] : "";
  if (word == "--help" || word == "-h") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (word == "--version") {
    std::puts("berth-shim " BERTH_VERSION);
    return 0;
  }
  if (argc != 2 || ::fcntl(kSocket, F_GETFD) < 0) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  return berth::runtime::RunShim(argv[1], kSocket);
}
