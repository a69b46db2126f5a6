#include <utility>

#include "host/machine/derive.h"
#include "host/machine/sources.h"
#include "host/machine/tree_files.h"
#include "host/machine/tree_nodes.h"
#include "host/machine/tree_views.h"

namespace berth::machine {

Result<Machine> LoadTree(os::Fs& fs, std::string source) {
  TreeFiles files(fs);
  CacheReader caches(files);
  Machine machine;
  machine.source = std::move(source);
  const auto read = [&]() -> Result<void> {
    BERTH_RETURN_IF_ERROR(ReadCpuSets(files, machine));
    if (machine.online.empty())
      return Fail(Code::kNotFound, "no online CPU in sys/devices/system/cpu (files online, present and folders cpu*)");
    BERTH_RETURN_IF_ERROR(ReadNodes(files, caches, machine));
    machine.l3 = ReadL3(files, machine.online);
    BERTH_RETURN_IF_ERROR(ReadCoreKinds(files, machine.nodes));
    BERTH_TRY(machine.pci, ReadPci(files));
    return {};
  };
  if (Result<void> done = read(); !done) return Wrap(std::move(done).error(), machine.source);
  SortViews(machine);
  return machine;
}

Result<Machine> LoadMemory(os::Fs& fs, std::string source) {
  TreeFiles files(fs);
  Machine machine;
  machine.source = std::move(source);
  if (Result<void> done = ReadMemory(files, machine); !done) return Wrap(std::move(done).error(), machine.source);
  return machine;
}

}  // namespace berth::machine
