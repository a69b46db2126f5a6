#include "model/explanation.h"

#include "base/words.h"
#include "model/resources.h"

namespace berth {

std::string_view Name(Shortage::Scope scope) {
  switch (scope) {
    case Shortage::Scope::kNodes: return "nodes";
    case Shortage::Scope::kMachine: return "machine";
    case Shortage::Scope::kNodeFit: return "nodeFit";
  }
  return "";
}

std::string AmountText(std::string_view resource, Shortage::Scope scope, std::int64_t amount) {
  if (resource == "cpu")
    return scope == Shortage::Scope::kNodeFit ? std::to_string(amount) + "m" : Counted(amount, "CPU");
  if (IsMemoryType(resource)) return Quantity::FromBytes({amount}).ToString();
  return Counted(amount, resource == "pods" ? "pod" : "device");
}

std::string ShortageText(const Shortage& shortage) {
  const auto text = [&](std::int64_t amount) { return AmountText(shortage.resource, shortage.scope, amount); };
  std::string where = "in node allocatable";
  if (shortage.scope == Shortage::Scope::kMachine) where = "on the whole machine";
  if (shortage.scope == Shortage::Scope::kNodes) where = "on " + NodesText(shortage.nodes);
  return shortage.resource + ": " + text(shortage.requested) + " asked, " + text(shortage.free) + " of " +
         text(shortage.capacity) + " free " + where + " (" + text(shortage.missing) + " short)";
}

}  // namespace berth
