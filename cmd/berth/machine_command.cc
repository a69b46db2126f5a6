#include "berth/machine_command.h"

#include <memory>
#include <utility>

#include "api/codec/codec.h"
#include "berth/command_context.h"
#include "berth/json_path.h"
#include "host/machine/load_machine.h"
#include "host/os/fs.h"
#include "view/machine_table.h"

namespace berth::cli {
namespace {

Result<void> Save(const MachineOptions& options, std::ostream& out) {
  Result<std::unique_ptr<os::Fs>> root = os::OpenFs(options.from == "host" ? "/" : options.from);
  if (!root)
    return Wrap(std::move(root).error(), "only this host and folders can be captured, not '" + options.from + "'");
  BERTH_RETURN_IF_ERROR(machine::Capture(**root, options.capture));
  Result<Machine> back = machine::Load(options.capture);
  if (!back) return Wrap(std::move(back).error(), "the capture was written but cannot be read back");
  out << "saved " << options.capture << ": CPUs " << FormatIds(UsableCpus(*back)) << " on NUMA nodes "
      << FormatIds(NodeIds(*back)) << "; berth machine -m " << options.capture << " shows it\n";
  return {};
}

Result<void> Show(const MachineOptions& options, std::ostream& out) {
  BERTH_TRY(const Machine machine, machine::Load(options.from));
  if (options.output == "json") {
    out << codec::FormatJson(codec::ToJson(machine), 2) << '\n';
  } else if (options.output == "yaml") {
    out << codec::ToYaml(codec::ToJson(machine));
  } else if (options.output.starts_with(kJsonPathIs)) {
    BERTH_TRY(const JsonPath path, JsonPath::Parse(std::string_view(options.output).substr(kJsonPathIs.size())));
    BERTH_TRY(const std::string found, path.Apply(codec::ToJson(machine)));
    out << (options.terminal ? view::WithoutControls(found) : found);
  } else if (options.output == "machineinfo") {
    out << machine::FormatMachineInfo(machine) << '\n';
  } else {
    view::TableOptions table = options.table;
    if (options.output == "wide") table.width = 0;
    out << view::MachineTable(machine, table);
  }
  return {};
}

}  // namespace

int RunMachine(const MachineOptions& options, std::ostream& out, std::ostream& err) {
  bool known = options.output.starts_with(kJsonPathIs);
  for (const std::string_view name : {"table", "wide", "json", "yaml", "machineinfo"}) known |= options.output == name;
  if (!known) {
    err << "berth: unknown output '" << options.output << "': use table, wide, json, yaml, jsonpath= or machineinfo\n";
    return kUsage;
  }
  const Result<void> done = options.capture.empty() ? Show(options, out) : Save(options, out);
  if (done) return kOk;
  err << "berth: " << done.error().message << '\n';
  return kFailed;
}

}  // namespace berth::cli
