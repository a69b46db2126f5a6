// A plug-in that the runtime itself has started (a program in /opt/nri/plugins): who it is and where its socket is.
#ifndef BERTH_RPC_NRI_LAUNCH_H_
#define BERTH_RPC_NRI_LAUNCH_H_

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace berth::nri {

struct Launch {
  std::string name;
  std::string index;
  int socket = -1;  ///< a descriptor of this process
};

/// By NRI_PLUGIN_NAME, NRI_PLUGIN_IDX and NRI_PLUGIN_SOCKET; nullopt: without the last one nobody has launched it.
/// `variable`: as getenv(3). Errors: kInvalid: no number of a descriptor, or a name or index that is none.
Result<std::optional<Launch>> FindLaunch(const std::function<const char*(const char*)>& variable);

/// Errors: kInvalid: a name has letters, digits and _.+- and is not empty, an index is two digits.
Result<void> CheckIdentity(const std::string& name, const std::string& index);

}  // namespace berth::nri

#endif  // BERTH_RPC_NRI_LAUNCH_H_
