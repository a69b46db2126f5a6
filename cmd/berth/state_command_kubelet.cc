// berth state import and export: to and from the kubelet's own files.
#include <utility>

#include "api/codec/codec.h"
#include "berth/state_command.h"
#include "config/berth_config.h"
#include "host/cgroup/observe.h"
#include "host/os/fs.h"
#include "host/os/lock_file.h"
#include "model/kubelet_version.h"
#include "node/checkpoint/kubelet_devices.h"
#include "node/checkpoint/kubelet_files.h"
#include "node/checkpoint/ledger_import.h"
#include "node/checkpoint/store.h"

namespace berth::cli {
namespace {

constexpr const char* kCpuFile = "cpu_manager_state";
constexpr const char* kMemoryFile = "memory_manager_state";
constexpr const char* kDeviceFolder = "device-plugins";
constexpr const char* kDeviceFile = "device-plugins/kubelet_internal_checkpoint";

/// What a file of the kubelet says; nullopt: there is none.
template <class Parse>
auto ReadKubeletFile(os::Fs& fs, const std::string& folder, const char* name, Parse parse)
    -> Result<std::optional<typename decltype(parse(""))::value_type>> {
  using Optional = std::optional<typename decltype(parse(""))::value_type>;
  auto text = fs.Read(name);
  if (!text && text.error().code == Code::kNotFound) return Optional();
  if (!text) return std::unexpected(std::move(text).error());
  auto value = parse(*text);
  if (!value) return Wrap(std::move(value).error(), folder + "/" + name);
  return Optional(*std::move(value));
}

Result<checkpoint::KubeletFiles> ReadKubeletFiles(const std::string& folder) {
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(folder));
  checkpoint::KubeletFiles out;
  BERTH_TRY(out.cpu, ReadKubeletFile(*fs, folder, kCpuFile, checkpoint::ParseKubeletCpuState));
  BERTH_TRY(out.memory, ReadKubeletFile(*fs, folder, kMemoryFile, checkpoint::ParseKubeletMemoryState));
  BERTH_TRY(out.devices, ReadKubeletFile(*fs, folder, kDeviceFile, checkpoint::ParseKubeletDeviceState));
  if (!out.cpu && !out.memory && !out.devices)
    return Fail(Code::kNotFound, folder + " holds no state of a kubelet (" + kCpuFile + ", " + kMemoryFile + ", " +
                                     kDeviceFile + "); name its root folder with --kubelet-dir");
  return out;
}

/// What runs below `root`, whichever driver named it.
Result<std::vector<RunningGroup>> LookAtPods(const std::string& root) {
  std::vector<RunningGroup> out;
  for (const cgroup::Driver driver : {cgroup::Driver::kCgroupfs, cgroup::Driver::kSystemd}) {
    BERTH_TRY(std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
    BERTH_TRY(cgroup::Layout layout, cgroup::DiscoverLayout(*fs));
    BERTH_TRY(const cgroup::Names names, cgroup::Names::Make(driver, root, true));
    BERTH_TRY(const auto tree, cgroup::Tree::OpenToLook(std::move(fs), std::move(layout), names.root()));
    BERTH_TRY(std::vector<RunningGroup> found, cgroup::ObserveRunning(*tree, names));
    out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  return out;
}

Result<checkpoint::LedgerImport> Import(const StateOptions& options) {
  BERTH_TRY(const checkpoint::KubeletFiles files, ReadKubeletFiles(options.kubelet_dir));
  std::vector<RunningGroup> running;
  const bool look = options.cgroup_root != "none";
  if (look) {
    BERTH_TRY(running, LookAtPods(options.cgroup_root));
  }
  checkpoint::LedgerImport out = checkpoint::ImportKubelet(files, look ? &running : nullptr);
  const std::string folder = options.state_dir.empty() ? config::BerthConfiguration().state_dir : options.state_dir;
  BERTH_TRY(const std::unique_ptr<checkpoint::Store> store, checkpoint::Store::Open(folder));
  BERTH_TRY(const std::optional<checkpoint::Saved> before, store->Load(&out.notes));
  if (before && !before->ledger.pods.empty() && !options.force)
    return Fail(Code::kConflict, folder + "/ledger already holds " + std::to_string(before->ledger.pods.size()) +
                                     " pods; --force replaces it (it stays as ledger.prev)");
  if (before) out.ledger.revision = before->ledger.revision + 1;
  BERTH_RETURN_IF_ERROR(store->Save({.ledger = out.ledger, .boot_id = "", .machine_fingerprint = ""}));
  return out;
}

Result<std::vector<std::string>> Export(const StateOptions& options, const Session& session) {
  BERTH_TRY(const Ledger ledger, LedgerInForce(options.state_dir, session));
  DeviceInventory inventory;  // a ledger by itself knows only devices that are held
  if (options.state_dir.empty()) {
    BERTH_TRY(inventory, session.berthd().Devices());
  }
  BERTH_RETURN_IF_ERROR(os::MakeDirs(options.to, 0755));
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs(options.to));
  BERTH_RETURN_IF_ERROR(fs->MakeDir(kDeviceFolder));
  const KubeletVersion version = options.kubelet_version;
  BERTH_RETURN_IF_ERROR(
      fs->Replace(kCpuFile, checkpoint::FormatKubeletState(checkpoint::ExportCpuState(ledger, version))));
  BERTH_RETURN_IF_ERROR(
      fs->Replace(kMemoryFile, checkpoint::FormatKubeletState(checkpoint::ExportMemoryState(ledger, version))));
  BERTH_RETURN_IF_ERROR(
      fs->Replace(kDeviceFile, checkpoint::FormatKubeletState(checkpoint::ExportDeviceState(ledger, inventory))));
  std::vector<std::string> out;
  for (const char* name : {kCpuFile, kMemoryFile, kDeviceFile}) out.push_back(options.to + "/" + name);
  return out;
}

}  // namespace

int RunStateImport(const StateOptions& options, const Session& session) {
  const auto made = Import(options);
  if (!made) {
    session.err() << "berth: " << made.error().message << '\n';
    return kFailed;
  }
  for (const std::string& note : made->notes) session.err() << "berth: note: " << note << '\n';
  if (!session.for_people()) return session.PrintData(codec::ToJson(made->ledger));
  PrintLedger(made->ledger, session);
  return kOk;
}

int RunStateExport(const StateOptions& options, const Session& session) {
  if (options.to.empty()) {
    session.err() << "berth: state export: name a folder with --to\n";
    return kUsage;
  }
  const auto written = Export(options, session);
  if (!written && options.state_dir.empty()) return session.Report(written.error());
  if (!written) {
    session.err() << "berth: " << written.error().message << '\n';
    return kFailed;
  }
  if (!session.for_people()) return session.PrintData({{"written", *written}});
  for (const std::string& file : *written) session.out() << file << '\n';
  return kOk;
}

}  // namespace berth::cli
