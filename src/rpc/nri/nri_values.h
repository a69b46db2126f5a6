// NRI data types: pods, containers, events and updates that a runtime exchanges with its plug-ins, as plain values.
#ifndef BERTH_RPC_NRI_NRI_VALUES_H_
#define BERTH_RPC_NRI_NRI_VALUES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace berth::nri {

using Texts = std::map<std::string, std::string>;

/// By the numbers of the interface.
enum class Event : std::uint8_t {
  kUnknown = 0,
  kRunPod = 1,
  kStopPod = 2,
  kRemovePod = 3,
  kCreateContainer = 4,
  kPostCreateContainer = 5,
  kStartContainer = 6,
  kPostStartContainer = 7,
  kUpdateContainer = 8,
  kPostUpdateContainer = 9,
  kStopContainer = 10,
  kRemoveContainer = 11,
  kUpdatePod = 12,
  kPostUpdatePod = 13,
  kValidateAdjustment = 14,
};

/// What is not set is not known, or not to be changed. Runtimes write zeros where nothing changes: zero is not set.
struct Resources {
  std::optional<std::uint64_t> cpu_shares{};
  std::optional<std::int64_t> cpu_quota{};  ///< microseconds; -1: without a limit
  std::optional<std::uint64_t> cpu_period{};
  std::string cpus{};  ///< as the kernel writes lists: "0-3,8"; "": not set
  std::string mems{};
  std::optional<std::int64_t> memory_limit{};        ///< bytes
  std::map<std::string, std::uint64_t> hugepages{};  ///< bytes by size of page ("2MB")
  Texts unified{};                                   ///< files of cgroup v2
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct Pod {
  std::string id;  ///< of the sandbox
  std::string name;
  std::string uid;
  std::string name_space;
  Texts labels;
  Texts annotations;
  std::string handler;        ///< runtime class
  std::string cgroup_parent;  ///< as the kubelet gave it
  Resources resources;        ///< of all its containers, where the kubelet says so
  Resources overhead;
  friend bool operator==(const Pod&, const Pod&) = default;
};

enum class ContainerState : std::uint8_t { kUnknown = 0, kCreated = 1, kPaused = 2, kRunning = 3, kStopped = 4 };

struct Container {
  std::string id;
  std::string pod_id;  ///< of the sandbox
  std::string name;
  ContainerState state = ContainerState::kUnknown;
  Texts labels;
  Texts annotations;
  std::vector<std::string> env;  ///< "KEY=value"
  std::string cgroups_path;      ///< as in the runtime's specification
  std::optional<std::int64_t> oom_score_adj;
  Resources resources;
  std::uint32_t pid = 0;  ///< 0: not started
  friend bool operator==(const Container&, const Container&) = default;
};

/// Whom a plug-in talks to.
struct Runtime {
  std::string name;         ///< "containerd", "cri-o"
  std::string version;      ///< "1.7.24", "2.1.9+unknown"
  std::string nri_version;  ///< "": older than 0.12, it does not say
  std::string config;       ///< of a plug-in that the runtime has launched: text of its configuration file
  std::int64_t request_timeout_ms = 0;
  friend bool operator==(const Runtime&, const Runtime&) = default;
};

/// All that is there when a plug-in joins.
struct Inventory {
  std::vector<Pod> pods;
  std::vector<Container> containers;  ///< not those that have ended
};

/// A container that is there already, changed.
struct Update {
  std::string container_id;
  Resources resources;
  bool ignore_failure = false;  ///< the rest of the answer holds also where this one fails
  friend bool operator==(const Update&, const Update&) = default;
};

/// mbind(2)'s modes by the numbers of the interface. Runtimes before NRI 0.12 pass over it.
struct MemoryPolicy {
  enum class Mode : std::uint8_t {
    kDefault = 0,
    kPreferred = 1,
    kBind = 2,
    kInterleave = 3,
    kLocal = 4,
    kPreferredMany = 5,
    kWeightedInterleave = 6,
  };
  enum class Flag : std::uint8_t { kStaticNodes = 0, kRelativeNodes = 1, kNumaBalancing = 2 };
  Mode mode = Mode::kDefault;
  std::string nodes;
  std::vector<Flag> flags;
};

/// A container that is being made, changed before it is.
struct Adjustment {
  Resources resources{};
  std::optional<MemoryPolicy> memory_policy{};
  Texts env{};
  Texts annotations{};
};

/// A container may run now.
struct Ready {};

struct Creation {
  Adjustment adjustment{};
  std::vector<Update> updates{};  ///< of other containers; in force before the new one is made
};

}  // namespace berth::nri

#endif  // BERTH_RPC_NRI_NRI_VALUES_H_
