#include "berth/state_command.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "api/codec/codec.h"
#include "base/text.h"
#include "host/os/fs.h"
#include "host/os/input.h"
#include "node/checkpoint/kubelet_devices.h"
#include "node/checkpoint/kubelet_files.h"
#include "node/checkpoint/ledger_import.h"
#include "node/checkpoint/store.h"
#include "view/changes.h"
#include "view/table.h"

namespace berth::cli {
namespace {

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

/// By what stands in it: the kubelet's files do not say what they are. Field names may stand in a text within a file.
Result<Ledger> ParseAnyState(const std::string& text) {
  if (text.starts_with("berth-ledger")) {
    BERTH_TRY(checkpoint::Saved saved, checkpoint::DecodeSaved(text));
    return std::move(saved.ledger);
  }
  checkpoint::KubeletFiles files;
  if (text.contains("\"PodDeviceEntries\"")) {
    BERTH_TRY(files.devices, checkpoint::ParseKubeletDeviceState(text));
  } else if (text.contains("machineState")) {
    BERTH_TRY(files.memory, checkpoint::ParseKubeletMemoryState(text));
  } else if (text.contains("defaultCpuSet")) {
    BERTH_TRY(files.cpu, checkpoint::ParseKubeletCpuState(text));
  } else {
    return Fail(Code::kCorrupt, "this is neither a ledger nor a state file of a kubelet, or its beginning is lost");
  }
  return checkpoint::ImportKubelet(files, nullptr).ledger;
}

int RunShow(const StateOptions& options, const Session& session) {
  std::vector<Ledger> ledgers;
  for (const std::string& file : options.files) {
    auto ledger = ReadStateFile(file);
    if (!ledger) return session.Report(ledger.error());
    ledgers.push_back(*std::move(ledger));
  }
  if (options.files.empty()) {
    auto ledger = LedgerInForce(options.state_dir, session);
    if (!ledger) return session.Report(ledger.error());
    ledgers.push_back(*std::move(ledger));
  }
  if (!session.for_people()) {
    if (ledgers.size() == 1) return session.PrintData(codec::ToJson(ledgers.front()));
    codec::Json list = codec::Json::array();
    for (const Ledger& ledger : ledgers) list.push_back(codec::ToJson(ledger));
    return session.PrintData(list);
  }
  for (const Ledger& ledger : ledgers) PrintLedger(ledger, session);
  return kOk;
}

}  // namespace

Result<Ledger> ReadStateFile(const std::string& file) {
  if (IsFolder(file)) return ReadStateFile(file + "/ledger");
  BERTH_TRY(const std::string text, os::ReadInput(file));
  auto ledger = ParseAnyState(text);
  if (!ledger) return Wrap(std::move(ledger).error(), file);
  return *std::move(ledger);
}

Result<Ledger> LedgerInForce(const std::string& state_dir, const Session& session) {
  if (!state_dir.empty()) return ReadStateFile(state_dir + "/ledger");
  return session.berthd().GetLedger();
}

void PrintLedger(const Ledger& ledger, const Session& session) {
  session.out() << "Revision:      " << ledger.revision << "\nCPU policy:    " << ledger.cpu_policy
                << "\nMemory policy: " << ledger.memory_policy
                << "\nShared pool:   " << (ledger.shared.empty() ? "none" : FormatIds(ledger.shared)) << "\n";
  for (const auto& [name, pool] : ledger.pools) session.out() << PoolText(name) << ": " << CpusText(pool) << "\n";
  view::Table table({{"POD"}, {"CONTAINER"}, {"CPUS"}, {"MEMORY NODES"}, {"DEVICES", view::Align::kLeft, true}});
  for (const auto& [uid, pod] : ledger.pods)
    for (const Placement& placement : pod.placements)
      table.AddRow({pod.partial ? uid : FullName(pod), placement.container, CpusText(placement),
                    FormatIds(MemoryNodes(placement)), view::DevicesText(placement.devices)});
  if (!table.empty()) session.out() << '\n' << table.Format(session.table());
}

int RunState(const StateOptions& options, const Session& session) {
  if (options.action == "verify") return RunStateVerify(options, session);
  if (options.action == "import") return RunStateImport(options, session);
  if (options.action == "export") return RunStateExport(options, session);
  return RunShow(options, session);
}

}  // namespace berth::cli
