#include "daemon/machine_looks.h"

#include <string>
#include <utility>

#include "daemon/machine_fingerprint.h"
#include "host/machine/load_machine.h"

namespace berth::daemon {

reconciler::MachineOptions LooksAtMachine(Settings settings) {
  return {.glance = machine::LoadThisHostsMemory,
          .look = [settings = std::move(settings)](const Machine& known) -> Result<reconciler::LookedAt> {
            BERTH_TRY(NodeParts parts, LoadNode(settings, &known));
            std::string fingerprint = MachineFingerprint(parts.node.machine());
            return reconciler::LookedAt{std::move(parts.node), std::move(fingerprint), std::move(parts.warnings)};
          }};
}

}  // namespace berth::daemon
