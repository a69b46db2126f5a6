// Preflight of a node before Berth is beside its kubelet: runtime, NRI, kubelet and cgroup facts, planned cpuset
// changes, findings. Plain values.
#ifndef BERTH_FRONTEND_NRI_PREFLIGHT_PREFLIGHT_VALUES_H_
#define BERTH_FRONTEND_NRI_PREFLIGHT_PREFLIGHT_VALUES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/id_set.h"
#include "model/pod.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri_preflight {

struct RuntimeFacts {
  std::string endpoint;  ///< path of its socket; "": none was found
  std::string name;      ///< "containerd"
  std::string version;
  std::string cgroup_driver;  ///< "": it does not say
  std::string problem;        ///< why it cannot be asked; "": it answers
};

struct NriFacts {
  std::string socket;
  bool there = false;                 ///< the socket
  std::string version;                ///< of the interface, by the runtime's version; "": not known
  std::string config_file;            ///< the runtime's; "": there is none
  std::optional<bool> disabled;       ///< what it says; nullopt: nothing
  std::size_t joined = 0;             ///< plug-ins that are connected
  std::vector<std::string> launched;  ///< programs the runtime starts as plug-ins
};

/// One of cpu_manager_state and memory_manager_state.
struct StateFile {
  std::string path;
  std::string policy;    ///< "": no such file
  std::size_t pods = 0;  ///< with something of their own in it
  std::string problem;   ///< it is there and cannot be read
};

struct KubeletFacts {
  int pid = 0;              ///< 0: no process of that name
  std::string config_file;  ///< "": none was found
  std::string problem;      ///< it cannot be read
  std::string cpu_policy = "none";
  std::string memory_policy = "None";
  std::string topology_policy = "none";
  std::string cgroup_driver;  ///< "": it does not say
  StateFile cpu_state;
  StateFile memory_state;
};

/// A program that concerns Berth.
struct Program {
  int pid = 0;
  std::string name;
  friend bool operator==(const Program&, const Program&) = default;
};

struct CgroupFacts {
  std::string version;  ///< "v1", "v2", "hybrid"; "": it cannot be told
  std::string problem;
};

/// A container as the runtime shows it, and what its group holds.
struct SeenContainer {
  nri::Pod pod;
  nri::Container container;
  bool told = true;            ///< the runtime says what it asked for
  std::optional<CpuSet> cpus;  ///< nullopt: not known
  std::optional<NodeSet> mems;
};

/// What would become of a container.
struct Change {
  std::string pod;  ///< "namespace/name"
  std::string container;
  std::string id;
  QosClass qos = QosClass::kBestEffort;
  std::optional<CpuSet> cpus_now;
  std::optional<NodeSet> mems_now;
  CpuSet cpus_then;
  NodeSet mems_then;
  bool own = false;  ///< CPUs of its own
  std::string why;   ///< it has no place, or nothing is known of what it asks for
};

struct Plan {
  std::vector<Change> changes;  ///< by pod and container
  CpuSet shared;                ///< the pool afterwards
  CpuSet reserved;
  CpuSet all;
  NodeSet nodes;
};

/// What somebody has to know, the gravest first.
struct Finding {
  enum class Level { kBlocks, kWarns, kTells };
  Level level = Level::kTells;
  std::string text;
  std::string cure;  ///< may be empty
};

struct Preflight {
  RuntimeFacts runtime;
  NriFacts nri;
  KubeletFacts kubelet;
  CgroupFacts cgroups;
  std::vector<Program> rivals;  ///< set cpusets too
  int berthd = 0;               ///< pid; 0: none runs
  bool from_berthd = false;     ///< the plan goes on from what a berthd has given
  std::optional<Plan> plan;     ///< nullopt: the containers are not known
  std::vector<Finding> findings;

  bool ready() const;  ///< nothing blocks
};

}  // namespace berth::nri_preflight

#endif  // BERTH_FRONTEND_NRI_PREFLIGHT_PREFLIGHT_VALUES_H_
