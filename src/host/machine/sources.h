// Machines from text and trees: one function for each kind of source.
#ifndef BERTH_HOST_MACHINE_SOURCES_H_
#define BERTH_HOST_MACHINE_SOURCES_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "host/os/fs.h"
#include "model/machine.h"

namespace berth::machine {

/// A tree of sys/ and proc/ as the kernel shows them; `fs` is its root. With "/" it is this host (this_host = true only
/// through LoadThisHost).
/// Errors: kInvalid naming the file and what is wrong in it; kNotFound when there is no CPU at all.
Result<Machine> LoadTree(os::Fs& fs, std::string source);
/// What LoadTree says about memory and huge pages, and nothing else: nodes without cores. Reads a few files per node.
/// Errors: as LoadTree.
Result<Machine> LoadMemory(os::Fs& fs, std::string source);
/// hwloc XML (`lstopo --of xml`).
Result<Machine> ParseHwlocXml(std::string_view xml, std::string source);
/// hwloc synthetic text, e.g. "pack:2 numa:2 l3:1 core:16 pu:2". It knows no distances: they are 10 on a node, 12 to
/// another of the same socket, 32 to one of another socket and to memory
/// without CPUs, and none in machines of more than 256 nodes.
Result<Machine> ParseSynthetic(std::string_view text);
/// cAdvisor MachineInfo JSON, as in golden cases and the kubelet's /spec.
Result<Machine> ParseMachineInfo(std::string_view json, std::string source);
/// cAdvisor MachineInfo JSON of a machine (what the kubelet would see); ParseMachineInfo reads it back.
std::string FormatMachineInfo(const Machine& machine);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_SOURCES_H_
