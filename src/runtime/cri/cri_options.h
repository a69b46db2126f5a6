// Options of a CRI runtime: socket, cgroup driver, timeouts, polling intervals, logs, DNS, runtime handlers.
#ifndef BERTH_RUNTIME_CRI_CRI_OPTIONS_H_
#define BERTH_RUNTIME_CRI_CRI_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "host/os/clock.h"
#include "runtime/cri/cri_client.h"
#include "runtime/cri/pod_names.h"

namespace berth::cri {

struct CriOptions {
  std::string socket;
  std::string cgroup_driver = "cgroupfs";  ///< the runtime's has to be the same; or "systemd"
  /// Marks sandboxes and containers as this berthd's (its cgroup root): two on one runtime keep apart.
  std::string owner;
  Timeouts timeouts;
  os::Millis patience{5'000};      ///< for a runtime that is being started
  os::Millis look{1'000};          ///< between two looks at the containers
  os::Millis sandbox_look{1'000};  ///< and at the sandboxes, which come with one of these
  os::Millis log_lag{5'000};       ///< from the end of a container to that of its log, at most
  std::size_t most_calls = 16;     ///< starts, removals and updates at a time
  std::uint64_t log_max_bytes = 10U << 20;
  int log_max_files = 5;  ///< the current one included
  os::Millis log_check{10'000};
  std::string log_dir;    ///< of the pods' logs
  std::string log_links;  ///< folder of links to them, as a kubelet's /var/log/containers; "": none
  std::string pod_files;  ///< each pod's /etc/hosts: <pod_files>/<uid>/.hosts, removed with the folder by others
  NodeDns dns;
  std::string seccomp_dir;                              ///< of profiles of type Localhost
  std::map<std::string, std::string> runtime_handlers;  ///< by runtimeClassName
  bool se_linux = false;                                ///< the kernel has it: files made for a pod are relabelled
};

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_CRI_OPTIONS_H_
