// NRI session: whether a container runtime asks where its containers go, and how far Berth knows the containers it has.
#ifndef BERTH_FRONTEND_NRI_AGENT_NRI_SESSION_H_
#define BERTH_FRONTEND_NRI_AGENT_NRI_SESSION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/nri_agent/container_key.h"
#include "frontend/nri_agent/device_reports.h"
#include "host/os/clock.h"
#include "node/ledger/placement_batch.h"
#include "rpc/nri/handler.h"

namespace berth::nri_agent {

/// No runtime has said yet which containers it has.
struct NotSynchronized {};
/// What a runtime said it has is looked at, a slice at a time.
struct Synchronizing {
  nri::Inventory inventory;
  std::map<std::string, std::vector<const nri::Container*>> containers_of;  // by sandbox's id
  std::size_t next_pod = 0;
  std::map<std::string, std::size_t> pod_of;    // sandbox's id -> index, of those that live
  std::set<std::string> there;                  // their uids
  bool pods_known = false;                      // all of them
  std::size_t next = 0;                         // container
  std::optional<ledger::PlacementBatch> batch;  // those decided so far
  std::vector<std::string> gone;                // uids of those that are not there any more
  std::set<ContainerKey> late;                  // those that were made without a place
  std::map<ContainerKey, bool> asked;           // containers that came meanwhile; true: they do not wait
  int begun_again = 0;                          // because the ledger had changed
  os::MonoTime specs_until{};                   // an API server may tell of pods
  os::MonoTime devices_until{};                 // the kubelet may tell of devices
  std::optional<DevicesByPod> devices;          // it has, and not all pods were known
  bool saving = false;
  std::optional<bool> saved;  // all is decided, and whether the ledger has it; it is put in force then
  os::MonoTime saved_at{};    // since when
  bool applied = false;       // the pool was, since then: what changes it later is not waited for
  bool memory_put = false;    // memory nodes of those in `late` are written
  std::uint64_t number = 0;   ///< differs from that of every other one

  os::MonoTime not_before() const { return std::max(specs_until, devices_until); }
};
/// All containers of the runtime are known, and it asks about each that comes.
struct Synchronized {
  bool saved = true;  ///< the ledger has the places of all
};
/// Containers may have come of which no runtime has told.
struct Outdated {
  bool knew_all = false;  ///< until the runtime left
};
/// A kubelet places containers: none is touched.
struct Aside {
  bool holds_places = true;  ///< the ledger has those of before
};

/// Connection and knowledge, each in one of a few states. The test has a table of both. Thread: the loop's only.
class NriSession {
 public:
  explicit NriSession(os::MonoTime now) : connection_(Away{.since = now}) {}

  // What happens to it. A call that means nothing in a state changes nothing.
  void Join() { connection_ = Joined(); }
  void Leave(os::MonoTime now);
  /// nullptr: Berth has stepped aside, what a runtime has is not looked at.
  Synchronizing* Begin(nri::Inventory inventory);
  void End(bool saved);
  void StepAside();
  void StepBack();
  /// That nobody has joined for long.
  void NoteTold();

  bool joined() const { return std::holds_alternative<Joined>(connection_); }
  /// Since when no runtime asks, as long as that was not told; nullopt: one does, or it was.
  std::optional<os::MonoTime> untold_since() const;
  template <class State>
  State* As() {
    return std::get_if<State>(&knowledge_);
  }
  template <class State>
  const State* As() const {
    return std::get_if<State>(&knowledge_);
  }
  /// What a runtime has, while it is being decided on; nullptr: it is not.
  Synchronizing* deciding() {
    auto* const out = As<Synchronizing>();
    return out != nullptr && !out->saved ? out : nullptr;
  }
  /// Nothing more is waited for at the start: what a runtime had has been looked at, nobody has joined for long, or
  /// Berth has stepped aside.
  bool started() const;

 private:
  struct Away {
    os::MonoTime since;
    bool told = false;
  };
  struct Joined {};

  std::variant<Away, Joined> connection_;
  std::variant<NotSynchronized, Synchronizing, Synchronized, Outdated, Aside> knowledge_;
  std::uint64_t begun_ = 0;  // how often Begin was called
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_NRI_SESSION_H_
