#include <algorithm>

#include "base/text.h"
#include "base/words.h"
#include "model/resources.h"
#include "simulator/offline/placement_text.h"
#include "simulator/offline/pod_explanation.h"

namespace berth::offline {
namespace {

/// An amount in the unit of a shortage, for a column of numbers: "6", "1500m", "12Gi", "2".
std::string Amount(std::int64_t amount, std::string_view resource, bool thousandths) {
  if (IsMemoryType(resource)) return Quantity::FromBytes({amount}).ToString();
  if (resource == "cpu" && thousandths) return Quantity::FromMilli(amount).ToString();
  return std::to_string(amount);
}

std::string Who(const std::string& container) { return container.empty() ? "the whole pod" : container; }

// ---- hints ----

/// "0, 1; not preferred: 0-1". Long lists are cut: the narrowest come first.
std::string HintListText(const ResourceHints& list) {
  const Hints& hints = list.hints;
  if (!hints) return "no preference";
  if (hints->empty()) return "impossible";
  constexpr std::size_t kShown = 8;
  std::string text;
  bool preferred = true;
  for (std::size_t i = 0; i < hints->size() && i < kShown; ++i) {
    const TopologyHint& hint = (*hints)[i];
    const bool turn = preferred && !hint.preferred;
    if (i > 0) text += turn ? "; " : ", ";
    if (turn) text += "not preferred: ";
    preferred = preferred && hint.preferred;
    const std::string nodes = hint.nodes ? FormatIds(*hint.nodes) : "any";
    text += nodes.contains(',') ? "{" + nodes + "}" : nodes;
  }
  if (hints->size() > kShown) text += " and " + std::to_string(hints->size() - kShown) + " more";
  if (!list.complete) text += " and others, too many to list";
  return text;
}

void AddHints(const Explanation& e, const ExplanationStyle& style, std::string& out) {
  if (e.hints.empty() && e.merges.empty()) {
    const auto* const rejected = std::get_if<Reject>(&e.decision);
    const bool unfit = rejected != nullptr && rejected->reason.starts_with("OutOf");
    out += unfit ? "\nNo hints: it does not fit the node as a whole.\n"
                 : "\nNo hints: the topology manager's policy is none.\n";
    return;
  }
  view::Table table({{"CONTAINER"}, {"RESOURCE"}, {"NODES THAT WOULD DO", view::Align::kLeft, true}});
  for (const ResourceHints& h : e.hints) table.AddRow({Who(h.container), h.resource, HintListText(h)});
  if (!table.empty()) out += "\n" + table.Format(style.table);
  view::Table merges({{"MERGED FOR"}, {"NODES"}, {"ADMITTED"}, {"RULE THAT DECIDED", view::Align::kLeft, true}});
  for (const MergeStep& m : e.merges)
    merges.AddRow({Who(m.container), HintText(m.merged), m.admit ? "yes" : "no", m.rule});
  if (!merges.empty()) out += "\n" + merges.Format(style.table);
}

// ---- admitted ----

void AddPlacements(const Admit& admit, const ExplanationStyle& style, std::string& out) {
  if (!admit.delta.put) return;
  view::Table table({{"CONTAINER"}, {"CPUS"}, {"MEMORY"}, {"DEVICES", view::Align::kLeft, true}, {"HINT"}});
  for (const Placement& p : admit.delta.put->placements)
    table.AddRow({ContainerLabel(p), CpuText(p), MemoryText(p), DeviceText(p), HintText(p.hint)});
  if (!table.empty()) out += "\n" + table.Format(style.table);
}

/// Why containers without CPUs of their own have none.
void AddShared(const Explanation& e, const Admit& admit, std::string& out) {
  if (!admit.delta.put) return;
  std::string lines;
  for (const TraceStep& step : e.steps) {
    const Placement* const placement = FindPlacement(*admit.delta.put, step.container);
    if (step.stage == "cpu" && placement != nullptr && !placement->cpus)
      lines += step.container + " " + step.text + "\n";
  }
  if (!lines.empty()) out += "\n" + lines;
}

// ---- rejected ----

/// Holders of a resource have their amounts in the unit of its shortage.
bool InThousandths(const Explanation& e, std::string_view resource) {
  return std::ranges::any_of(
      e.shortages, [&](const Shortage& s) { return s.resource == resource && s.scope == Shortage::Scope::kNodeFit; });
}

void AddShortages(const Explanation& e, const ExplanationStyle& style, std::string& out) {
  if (!e.shortages.empty()) {
    out += "\nWhat is short:\n";
    for (const Shortage& s : e.shortages)
      out += "  " + (s.container.empty() ? "" : s.container + ": ") + ShortageText(s) + "\n";
    for (const std::string& detail : std::get<Reject>(e.decision).details)
      if (!out.contains(detail)) out += "  " + detail + "\n";
  }
  if (e.holders.empty()) return;
  view::Table table({{"HELD BY"}, {"CONTAINER"}, {"RESOURCE"}, {"AMOUNT", view::Align::kRight}, {"NODES"}});
  for (const Holder& h : e.holders)
    table.AddRow({h.pod, h.container, h.resource, Amount(h.amount, h.resource, InThousandths(e, h.resource)),
                  FormatIds(h.nodes)});
  out += "\n" + table.Format(style.table);
}

void AddCures(const Explanation& e, std::string& out) {
  if (!e.settings.empty())
    out += "\nIt would be admitted now if the node's settings said: " + Join(e.settings, ", or ") + "\n";
  if (e.nearest) {
    out += "\nIt would be admitted now with:\n";
    for (const RequestChange& c : e.nearest->changes)
      out += "  " + Who(c.container) + ": " + c.resource + " " + c.to.ToString() + " instead of " + c.from.ToString() +
             "\n";
    if (!e.nearest_exhaustive) out += "There may be a nearer one: not all were tried.\n";
  } else if (e.nearest_exhaustive) {
    out += "\nNo smaller request of this shape would be admitted now.\n";
  } else {
    out += "\nNo smaller request was found that would be admitted now; not all were tried.\n";
  }
  if (!e.removal) {
    out += "\nRemoving pods does not help: an empty node would not admit it either.\n";
  } else if (!e.removal->pods.empty()) {
    out += std::string("\nIt would be admitted after removing ") +
           (e.removal->smallest ? "(no smaller set does): " : "(a smaller set may do): ") + RemovalText(*e.removal) +
           "\n";
  }
}

/// The engine, where it said no, has tried what would help.
void AddReasons(const Explanation& e, const Reject& reject, const ExplanationStyle& style, std::string& out) {
  if (e.steps.empty()) {  // the node's rules did
    for (const std::string& detail : reject.details) out += "  " + detail + "\n";
    return;
  }
  AddHints(e, style, out);
  if (reject.reason == allocator::kOthersComeFirst) return;
  AddShortages(e, style, out);
  AddCures(e, out);
}

void AddVersions(const Outlook& outlook, std::string& out) {
  if (outlook.versions.empty()) return;
  out += "\nKubelets of other versions would decide otherwise:\n";
  for (const VersionDifference& d : outlook.versions)
    out += "  " + std::string(Name(d.version)) + ": " + Who(d.container) + ": " + d.there + ", instead of " + d.here +
           "\n";
}

void AddTrace(const Explanation& e, std::string& out) {
  out += "\nStep by step:\n";
  for (const TraceStep& step : e.steps) {
    std::string where = step.container;
    if (!step.resource.empty()) where += (where.empty() ? "" : " ") + step.resource;
    out += "  " + step.stage + ": " + (where.empty() ? "" : where + ": ") + step.text + "\n";
  }
}

}  // namespace

std::string FormatOutlook(const Outlook& outlook, const ExplanationStyle& style) {
  const Explanation& e = outlook.explanation;
  std::string out;
  if (outlook.was_there) out += "(explained as if " + outlook.pod + " were not on the node yet)\n";
  out += "pod " + outlook.pod + " (" + std::string(Name(outlook.qos)) + "): ";
  if (outlook.wait)
    out += view::Paint("waits", view::Style::kWarn, style.table.color) + ", " + outlook.wait->reason + "\n" +
           outlook.wait->message + "\nWithout that: ";
  if (const auto* reject = std::get_if<Reject>(&e.decision)) {
    out += view::Paint("rejected", view::Style::kBad, style.table.color) + ", " + reject->reason;
    if (!reject->container.empty()) out += " at container " + reject->container;
    out += "\n" + reject->message + "\n";
    AddReasons(e, *reject, style, out);
  } else {
    out += view::Paint("admitted", view::Style::kGood, style.table.color) + "\n";
    AddPlacements(std::get<Admit>(e.decision), style, out);
    for (const std::string& note : outlook.notes) out += "\n" + note + "\n";
    AddShared(e, std::get<Admit>(e.decision), out);
    AddHints(e, style, out);
  }
  AddVersions(outlook, out);
  if (style.trace) AddTrace(e, out);
  return out;
}

}  // namespace berth::offline
