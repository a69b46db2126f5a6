#include "model/explanation.h"

#include "base/text.h"
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
  std::string out;
  out.reserve(120);
  out += shortage.resource;
  out += ": ";
  out += text(shortage.requested);
  out += " asked, ";
  out += text(shortage.free);
  out += " of ";
  out += text(shortage.capacity);
  out += " free ";
  switch (shortage.scope) {
    case Shortage::Scope::kNodes: out += "on " + NodesText(shortage.nodes); break;
    case Shortage::Scope::kMachine: out += "on the whole machine"; break;
    case Shortage::Scope::kNodeFit: out += "in node allocatable"; break;
  }
  out += " (";
  out += text(shortage.missing);
  out += " short)";
  return out;
}

std::string RemovalText(const Removal& removal) {
  std::vector<std::string> names;
  for (const PodRef& pod : removal.pods) names.push_back(pod.pod);
  return Join(names, ", ");
}

}  // namespace berth
