// The drawing in a page of its own.
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "view/changes.h"
#include "view/map_svg.h"
#include "view/svg_piece.h"

namespace berth::view {
namespace {

constexpr std::string_view kHead = R"(<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root { color-scheme: light dark; }
body { margin: 1.5rem; font: 14px system-ui, sans-serif; background: Canvas; color: CanvasText; }
figure { margin: 1rem 0; overflow-x: auto; } table { border-collapse: collapse; }
th, td { text-align: left; padding: .2rem 1rem .2rem 0; border-bottom: 1px solid color-mix(in srgb, CanvasText 20%, Canvas); }
svg g:hover > rect.c { stroke: currentColor; stroke-width: 2; }
</style>
)";

std::string Row(const std::vector<std::string>& cells, const char* tag) {
  std::string out = "<tr>";
  for (const std::string& cell : cells) out += fmt::format("<{0}>{1}</{0}>", tag, XmlText(cell.empty() ? "-" : cell));
  return out + "</tr>\n";
}

std::string HoldersPart(const Ledger& ledger) {
  std::vector<const PodRecord*> pods;
  for (const auto& [uid, pod] : ledger.pods) pods.push_back(&pod);
  std::ranges::sort(pods, {}, &PodRecord::sequence);
  std::string out =
      "<h2>Who holds what</h2>\n<table>\n" + Row({"Pod", "Container", "CPUs", "Memory nodes", "Devices"}, "th");
  for (const PodRecord* pod : pods)
    for (const Placement& place : pod->placements)
      out += Row(
          {FullName(*pod), place.container, CpusText(place), FormatIds(MemoryNodes(place)), DevicesText(place.devices)},
          "td");
  return pods.empty() ? "" : out + "</table>\n";
}

std::string ChangesPart(const Ledger& before, const Ledger& after) {
  const std::vector<Change> changes = ChangesOf(before, after);
  if (changes.empty()) return "<p>Nothing changes.</p>\n";
  std::string out = "<h2>What changes</h2>\n<table>\n" + Row({"Who", "What", "Before", "After"}, "th");
  for (const Change& change : changes) out += Row({change.who, change.what, change.before, change.after}, "td");
  return out + "</table>\n";
}

}  // namespace

std::string RenderMapPage(const Machine& machine, const Ledger& ledger, const CpuSet& reserved,
                          const DeviceInventory& devices, const Ledger* before) {
  const std::string title = XmlText(machine.source.empty() ? "a machine" : machine.source);
  return "<!doctype html>\n<html lang=\"en\">\n" + std::string(kHead) + "<title>berth map: " + title +
         "</title>\n<h1>" + title + "</h1>\n<p>Point at a CPU to read whose it is.</p>\n" +
         (before != nullptr ? ChangesPart(*before, ledger) : "") + "<figure>\n" +
         RenderMapSvg(machine, ledger, reserved, devices, before) + "</figure>\n" + HoldersPart(ledger) + "</html>\n";
}

}  // namespace berth::view
