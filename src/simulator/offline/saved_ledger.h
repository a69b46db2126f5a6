// A ledger that was kept as text, and whether a node can go on from it.
#ifndef BERTH_SIMULATOR_OFFLINE_SAVED_LEDGER_H_
#define BERTH_SIMULATOR_OFFLINE_SAVED_LEDGER_H_

#include <optional>
#include <string>
#include <string_view>

#include "allocator/engine.h"
#include "base/result.h"
#include "model/ledger.h"

namespace berth::offline {

/// A ledger as berthd keeps it (docs/formats/ledger.md), or as JSON: what `GET /v1/ledger` gives, or the ledger alone.
/// `name` is used in messages. Errors: kInvalid (no JSON), kCorrupt (a field or the checksum), kUnsupported (written by
/// a newer berthd).
Result<Ledger> ParseLedger(std::string_view text, const std::string& name);

/// Why a ledger is not one of a node's.
struct Misfit {
  std::string problem;         ///< the first one, a clause
  bool only_reserved = false;  ///< nothing is wrong but that other CPUs were reserved when it was made
};

/// Makes a ledger that was kept under another memory policy one of this node, as a restart of berthd does: pods keep
/// their CPUs and devices, and hold no booked memory. True: it was one.
bool TakeMemoryPolicy(const allocator::Node& node, Ledger& ledger);

/// nullopt: the node can go on from the ledger. Devices that a container holds and the inventory of today lacks are no
/// reason: one that runs keeps them.
std::optional<Misfit> FindMisfit(const allocator::Node& node, const Ledger& ledger);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_SAVED_LEDGER_H_
