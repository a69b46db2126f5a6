#include "model/defrag.h"

#include "model/ledger.h"

namespace berth {
namespace {

std::string Changed(const std::string& what, const std::string& from, const std::string& to) {
  return from == to ? "" : what + " " + from + " -> " + to;
}

}  // namespace

std::string MoveText(const MovedContainer& moved) {
  std::string out = Changed("CPUs", CpusText(moved.from), CpusText(moved.to));
  const std::string memory =
      Changed("memory of NUMA nodes", FormatIds(MemoryNodes(moved.from)), FormatIds(MemoryNodes(moved.to)));
  if (!out.empty() && !memory.empty()) out += ", ";
  return out + memory;
}

std::string MoveText(const Move& move) {
  std::string out;
  for (const MovedContainer& moved : move.containers)
    out += (out.empty() ? "" : "; ") + moved.from.container + ": " + MoveText(moved);
  return out;
}

}  // namespace berth
