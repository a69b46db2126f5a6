#include "model/machine.h"

#include <algorithm>

namespace berth {

CpuSet UsableCpus(const Machine& machine) {
  CpuSet out;
  for (const NumaNode& node : machine.nodes) out |= CpusOfNode(machine, node.id);
  return out;
}

NodeSet NodeIds(const Machine& machine) {
  NodeSet out;
  for (const NumaNode& node : machine.nodes) out.Insert(node.id);
  return out;
}

CpuSet CpusOfNode(const Machine& machine, NumaId id) {
  CpuSet out;
  for (const NumaNode& node : machine.nodes)
    if (node.id == id)
      for (const Core& core : node.cores)
        for (CpuId cpu : core.threads) out.Insert(cpu);
  return out;
}

CoreId IdOf(const Core& core) {
  BERTH_CHECK(!core.threads.empty());
  return CoreId{Raw(*std::ranges::min_element(core.threads))};
}

}  // namespace berth
