// Machines by name: this host, or whatever a person may name. sources.h has each kind of source by itself.
#ifndef BERTH_HOST_MACHINE_LOAD_MACHINE_H_
#define BERTH_HOST_MACHINE_LOAD_MACHINE_H_

#include <string>

#include "base/result.h"
#include "host/machine/sources.h"
#include "host/os/fs.h"
#include "model/machine.h"

namespace berth::machine {

/// This host: its own /sys and /proc (containers' masks do not matter).
Result<Machine> LoadThisHost();
/// Memory and huge pages of this host as LoadThisHost gives them, and nothing else of it: quick.
Result<Machine> LoadThisHostsMemory();
/// Anything a person may name: "host", a folder, a tarball (.tar, .tar.gz, .tar.bz2, .tar.xz, .tar.zst), an .xml, a
/// .json, or synthetic text. Errors name what was tried.
Result<Machine> Load(const std::string& from);

/// Saves the parts of /sys and /proc that LoadTree reads into a tar file (gzip if it ends in .gz).
Result<void> Capture(os::Fs& root, const std::string& file);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_LOAD_MACHINE_H_
