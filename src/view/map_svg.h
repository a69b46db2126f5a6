// The machine as a drawing for a page or a report: the map of map.h as SVG.
#ifndef BERTH_VIEW_MAP_SVG_H_
#define BERTH_VIEW_MAP_SVG_H_

#include <string>

#include "base/id_set.h"
#include "model/device.h"
#include "model/ledger.h"
#include "model/machine.h"

namespace berth::view {

/// A drawing that stands by itself: no script, no font and nothing else from anywhere. Light or dark as the reader's
/// screen wants it; a pod is told by its letter and a colour (eight that colour-blind people can tell apart), and each
/// CPU says what it is when pointed at. Sockets, NUMA nodes with their memory and devices, L3 groups, cores and
/// threads, distances, and who holds what. CPUs lose their numbers when there are more than 256, and cores their
/// threads beyond 1024. With `before`, what was then is the ledger before: CPUs that are something else now have a
/// dashed line around them and say what they were, and below stands what changes. Names that others wrote are text in
/// it, whatever is in them. Ends in a newline.
std::string RenderMapSvg(const Machine& machine, const Ledger& ledger, const CpuSet& reserved,
                         const DeviceInventory& devices, const Ledger* before = nullptr);

/// A page that stands by itself, with a title, the drawing, and who holds what as a table; it asks nobody for anything.
std::string RenderMapPage(const Machine& machine, const Ledger& ledger, const CpuSet& reserved,
                          const DeviceInventory& devices, const Ledger* before = nullptr);

}  // namespace berth::view

#endif  // BERTH_VIEW_MAP_SVG_H_
