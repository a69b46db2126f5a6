// Two states of a node beside each other: who holds something else in the second.
#ifndef BERTH_VIEW_CHANGES_H_
#define BERTH_VIEW_CHANGES_H_

#include <string>
#include <vector>

#include "model/device.h"
#include "model/ledger.h"
#include "view/table.h"

namespace berth::view {

struct Change {
  std::string who;     ///< "default/web/app", "shared pool"
  std::string what;    ///< "CPUs", "memory nodes", "devices"
  std::string before;  ///< "": nothing, or there was no such container
  std::string after;   ///< "": nothing, or it is gone
  friend bool operator==(const Change&, const Change&) = default;
};

/// By pod and container, the shared pool last. CPUs of a container in the shared pool are "shared".
std::vector<Change> ChangesOf(const Ledger& before, const Ledger& after);
std::string ChangesTable(const std::vector<Change>& changes, const TableOptions& options = {});

/// "example.com/nic a,b; example.com/gpu c".
std::string DevicesText(const std::vector<DeviceAssignment>& devices);

}  // namespace berth::view

#endif  // BERTH_VIEW_CHANGES_H_
