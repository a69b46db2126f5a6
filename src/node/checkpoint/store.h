// The ledger on disk: one record per decision, before or after but never between.
//
// Layout, versions and checksum: docs/formats/ledger.md.
#ifndef BERTH_NODE_CHECKPOINT_STORE_H_
#define BERTH_NODE_CHECKPOINT_STORE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/fs.h"
#include "model/ledger.h"

namespace berth::checkpoint {

inline constexpr int kLedgerVersion = 1;

/// What is saved beside the ledger so that a start can tell what changed while Berth was away.
struct Saved {
  Ledger ledger;
  std::string boot_id;
  std::string machine_fingerprint;  ///< of CPUs, nodes and memory sizes; see MachineFingerprint in the daemon
  friend bool operator==(const Saved&, const Saved&) = default;
};

/// Bytes <-> value, pure. Decode errors: kCorrupt (checksum, truncated, junk), kUnsupported (newer version).
std::string EncodeSaved(const Saved& saved);
Result<Saved> DecodeSaved(std::string_view bytes);

/// Owns a state directory: holds a lock on it for as long as it lives.
class Store {
 public:
  /// Errors: kInUse when another berthd has the directory (the message names its pid), kPermission, kIo.
  static Result<std::unique_ptr<Store>> Open(const std::string& directory);
  /// A store on any Fs, without a lock.
  static std::unique_ptr<Store> Make(std::unique_ptr<os::Fs> fs);
  virtual ~Store() = default;
  /// nullopt: a fresh directory, or no copy can be used. A current file that cannot be used (damaged, of a newer
  /// format) falls back to the last good copy; it is kept aside for people ("ledger.damaged", "ledger.newer", with a
  /// number when there is another one already), and `warnings` says so. Errors: a file that is there cannot be read (a
  /// disk that fails); nothing was changed.
  virtual Result<std::optional<Saved>> Load(std::vector<std::string>* warnings) = 0;
  /// Durable when it returns: one file sync and one folder sync; the state before stays as the last good copy. On error
  /// the previous state stands, on disk too as far as the disk still takes writes.
  virtual Result<void> Save(const Saved& saved) = 0;
};

}  // namespace berth::checkpoint

#endif  // BERTH_NODE_CHECKPOINT_STORE_H_
