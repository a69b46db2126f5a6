// Machines from five places, one result type.
#ifndef BERTH_MACHINE_LOAD_H_
#define BERTH_MACHINE_LOAD_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/machine.h"
#include "os/fs.h"

namespace berth::machine {

/// A tree of sys/ and proc/ as the kernel shows them; `fs` is its root. With "/" it is this host (this_host = true only
/// through LoadThisHost).
/// Errors: kInvalid naming the file and what is wrong in it; kNotFound when there is no CPU at all.
Result<Machine> LoadTree(os::Fs& fs, std::string source);
/// This host: its own /sys and /proc (containers' masks do not matter).
Result<Machine> LoadThisHost();
/// hwloc XML (`lstopo --of xml`).
Result<Machine> ParseHwlocXml(std::string_view xml, std::string source);
/// hwloc synthetic text, e.g. "pack:2 numa:2 l3:1 core:16 pu:2".
Result<Machine> ParseSynthetic(std::string_view text);
/// cAdvisor MachineInfo JSON, as in golden cases and the kubelet's /spec.
Result<Machine> ParseMachineInfo(std::string_view json, std::string source);

/// Anything a person may name: "host", a folder, a tarball (.tar, .tar.gz, .tar.bz2, .tar.xz, .tar.zst), an .xml, a
/// .json, or synthetic text. Errors name what was tried.
Result<Machine> Load(const std::string& from);

/// cAdvisor MachineInfo JSON of a machine (what the kubelet would see); ParseMachineInfo reads it back.
std::string FormatMachineInfo(const Machine& machine);

/// Saves the parts of /sys and /proc that LoadTree reads into a tar file (gzip if it ends in .gz).
Result<void> Capture(os::Fs& root, const std::string& file);

}  // namespace berth::machine

#endif  // BERTH_MACHINE_LOAD_H_
