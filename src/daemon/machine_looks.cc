#include "daemon/machine_looks.h"

#include <string>
#include <utility>

#include "daemon/machine_fingerprint.h"
#include "machine/load_machine.h"

namespace berth::daemon {

guard::MachineOptions LooksAtMachine(Settings settings) {
  return {.glance = machine::LoadThisHostsMemory,
          .look = [settings = std::move(settings)](const Machine& known) -> Result<guard::LookedAt> {
            BERTH_TRY(NodeParts parts, LoadNode(settings, &known));
            std::string fingerprint = MachineFingerprint(parts.node.machine());
            return guard::LookedAt{std::move(parts.node), std::move(fingerprint), std::move(parts.warnings)};
          }};
}

}  // namespace berth::daemon
