// Host inspection from files: the container runtime's NRI, the kubelet, and programs that set cpusets. Only reads.
#ifndef BERTH_FRONTEND_NRI_PREFLIGHT_HOST_INSPECTION_H_
#define BERTH_FRONTEND_NRI_PREFLIGHT_HOST_INSPECTION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/nri_preflight/preflight_values.h"
#include "host/os/fs.h"
#include "model/kubelet_config.h"

namespace berth::nri_preflight {

/// Processes by what Berth has to do with them.
struct Programs {
  int kubelet = 0;
  std::vector<std::string> kubelet_flags;
  int berthd = 0;
  std::vector<Program> rivals;
};
/// Looks through proc. One that ends meanwhile is passed over.
Programs FindPrograms(os::Fs& root);

/// The value of "--name=value" or "--name value"; "": there is none.
std::string FlagOf(const std::vector<std::string>& flags, std::string_view name);

struct LookedAtKubelet {
  KubeletFacts facts;
  std::optional<KubeletConfiguration> config;  ///< as far as it could be read
};
/// `config_file`: read if there is one. `folder`: the kubelet's own, with its state files.
LookedAtKubelet LookAtKubelet(os::Fs& root, const std::string& config_file, const std::string& folder);

/// Connections that a listener at `socket` has taken, by the text of proc/net/unix.
std::size_t CountJoined(std::string_view unix_sockets, std::string_view socket);

/// What the configuration of a containerd or CRI-O says about NRI, files that it imports aside; nullopt: nothing, or it
/// is no TOML, with which no runtime starts.
std::optional<bool> SaysNriDisabled(std::string_view toml);

/// The version of NRI in a runtime, "0.8"; "": not known, or it has none.
std::string NriVersionOf(std::string_view runtime, std::string_view version);

/// `socket`, the runtime's configuration and its folder of plug-ins.
NriFacts LookAtNri(os::Fs& root, const std::string& socket, const std::string& config_file);

/// Path of the group whose cpuset a process is in, by its proc file "cgroup", from the top; nullopt: not told.
std::optional<std::string> CpusetGroupIn(std::string_view groups);

}  // namespace berth::nri_preflight

#endif  // BERTH_FRONTEND_NRI_PREFLIGHT_HOST_INSPECTION_H_
