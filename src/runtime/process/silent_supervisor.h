// A supervisor that does not record the end of its container's process, which the kernel tells: it is told to go on,
// should somebody have stopped it, and at last done without. Internal to the component.
#ifndef BERTH_RUNTIME_PROCESS_SILENT_SUPERVISOR_H_
#define BERTH_RUNTIME_PROCESS_SILENT_SUPERVISOR_H_

#include <optional>

#include "host/os/clock.h"
#include "runtime/lifecycle/runtime.h"
#include "runtime/process/held.h"
#include "runtime/process/launcher.h"

namespace berth::runtime {

/// When the supervisor has to be looked at; nullopt: it is not silent, or has ended.
std::optional<os::MonoTime> NextLook(const Held& held);

/// Does what is due at `now`. In the supervisor's place it takes note of the end, as far as the kernel keeps it, and
/// kills the supervisor, whose end is waited for as any other. Returns what people should know.
/// Requires: NextLook(held). Thread: that of the runtime.
std::optional<Notice> LookAtSilent(Held& held, Launcher& launcher, os::MonoTime now);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_SILENT_SUPERVISOR_H_
