#include "berth/load.h"

#include <memory>
#include <utility>

#include "api/codec/codec.h"
#include "config/kubelet_reader.h"
#include "host/machine/load_machine.h"
#include "host/os/fs.h"
#include "manifest/manifest.h"
#include "simulator/offline/device_inventory.h"
#include "simulator/offline/saved_ledger.h"

namespace berth {
namespace {

void Append(const std::vector<manifest::Warning>& found, std::vector<std::string>* warnings) {
  if (warnings == nullptr) return;
  for (const manifest::Warning& w : found) warnings->push_back(w.where + ": " + w.message);
}

}  // namespace

Result<Machine> LoadMachine(const std::string& from) { return machine::Load(from); }

Result<void> CaptureMachine(const std::string& file) {
  BERTH_TRY(const std::unique_ptr<os::Fs> root, os::OpenFs("/"));
  return machine::Capture(*root, file);
}

Result<KubeletConfiguration> ParseSettings(std::string_view text, std::string_view name,
                                           std::vector<std::string>* warnings, KubeletVersion version) {
  BERTH_TRY(auto parsed, config::ParseKubeletConfiguration(text, name, version));
  Append(parsed.warnings, warnings);
  return std::move(parsed.config);
}

Result<DeviceInventory> ParseDevices(std::string_view text, const std::string& name) {
  return offline::ParseDeviceInventory(text, name);
}

Result<std::vector<Pod>> ParsePods(std::string_view text, std::string_view name, std::vector<std::string>* warnings) {
  BERTH_TRY(auto parsed,
            manifest::ParsePods(text, name, {.to_be_run = false, .most_pods = manifest::PodOptions::kAnyNumber}));
  Append(parsed.warnings, warnings);
  return std::move(parsed.pods);
}

std::string FormatLedger(const Ledger& ledger) { return codec::FormatJson(codec::ToJson(ledger)); }

Result<Ledger> ParseLedger(std::string_view text, const std::string& name) { return offline::ParseLedger(text, name); }

}  // namespace berth
