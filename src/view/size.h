// Amounts of memory for people.
#ifndef BERTH_VIEW_SIZE_H_
#define BERTH_VIEW_SIZE_H_

#include <string>

#include "base/units.h"

namespace berth::view {

/// "0 B", "512 MiB", "23.5 GiB": the largest binary unit that leaves at least 1, one decimal below 100 unless it is 0.
/// Rounded to nearest.
std::string FormatSize(Bytes size);

}  // namespace berth::view

#endif  // BERTH_VIEW_SIZE_H_
