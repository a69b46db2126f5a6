// Loaders and parsers of a node's parts: machines, settings, devices, pods and ledgers, from files and text.
//
// Nothing here has a state. Thread: any. `name` is where a text came from, and only used in messages.
#ifndef BERTH_LOAD_H_
#define BERTH_LOAD_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/device.h"
#include "model/kubelet_config.h"
#include "model/kubelet_version.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "model/pod.h"

namespace berth {

/// A machine by what a person may call it:
///  - "host": this host, from its own /sys and /proc, also in a container that sees others;
///  - the path of a captured tree (a folder, .tar, .tar.gz, .tar.bz2, .tar.xz, .tar.zst), of hwloc's XML (.xml) or of
///    cAdvisor's MachineInfo (.json);
///  - words in hwloc's synthetic format: "pack:2 numa:2 l3:1 core:16 pu:2".
/// Errors: kInvalid (what is read makes no sense; the message names file and field), kNotFound (there is no such file,
/// and it is no synthetic text either; or no CPU at all), kCorrupt, kPermission, kIo.
Result<Machine> LoadMachine(const std::string& from);

/// Saves what LoadMachine reads of this host, and nothing else, to a tar file, for another host to load: .tar, or
/// .tar.gz and .tgz. Errors: kInvalid (another ending), and those of reading and writing. A file that was there is
/// replaced, or is as it was after an error.
Result<void> CaptureMachine(const std::string& file);

/// A kubelet's settings from a KubeletConfiguration (YAML or JSON, one document with apiVersion and kind). What it does
/// not say has the kubelet's default. `warnings`: unknown and repeated fields are appended, a sentence each; nullptr:
/// they are of no interest. `version`: which feature gates it may name. Policies, reservations and their sums are
/// checked against a machine by Node::Make only. Errors: kInvalid with all problems, one a line.
Result<KubeletConfiguration> ParseSettings(std::string_view text, std::string_view name,
                                           std::vector<std::string>* warnings = nullptr,
                                           KubeletVersion version = kDefaultKubeletVersion);

/// Devices from YAML or JSON: resource name -> list of {id: "gpu0", numa: [0], healthy: true}; `numa` and `healthy` may
/// be left out. Errors: kInvalid naming the field.
Result<DeviceInventory> ParseDevices(std::string_view text, const std::string& name);

/// The pods of a manifest: YAML documents or JSON, each a v1.Pod, v1.PodList or v1.List of pods, validated as an API
/// server does, with its defaults in place. A pod may have no uid. `warnings`: as ParseSettings, and what only an API
/// server could resolve. Errors: kInvalid with all problems, one a line: document, field, what is wrong and the cure.
Result<std::vector<Pod>> ParsePods(std::string_view text, std::string_view name,
                                   std::vector<std::string>* warnings = nullptr);

/// A ledger as JSON, in the form of `GET /v1/ledger`. ParseLedger reads it back.
std::string FormatLedger(const Ledger& ledger);

/// A ledger from JSON, from `berth simulate -o json` (its `ledger`), or from the file in which a berthd keeps it.
/// Whether it makes sense on a node is for Node::Restore to say.
/// Errors: kInvalid (no JSON), kCorrupt (a field or the checksum), kUnsupported (a newer berthd wrote it).
Result<Ledger> ParseLedger(std::string_view text, const std::string& name);

}  // namespace berth

#endif  // BERTH_LOAD_H_
