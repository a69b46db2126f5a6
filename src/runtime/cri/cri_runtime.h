// A container runtime behind CRI (containerd, CRI-O) as Berth's Runtime. Design: docs/design/cri.md.
//
// Nothing blocks the caller: calls of the runtime run on threads of their own, what comes of them comes through Poll.
// What is known about containers is what the runtime said last; while it does not answer, nothing is taken to have
// ended.
#ifndef BERTH_RUNTIME_CRI_CRI_RUNTIME_H_
#define BERTH_RUNTIME_CRI_CRI_RUNTIME_H_

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/cri/cri_client.h"
#include "runtime/cri/cri_options.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::cri {

struct OpenedRuntime {
  std::unique_ptr<runtime::Runtime> runtime;
  Version version;
  std::vector<std::string> not_ready;  ///< as Client::NotReady
  Features features;
};

/// Speaks to the runtime and finds its containers again. Containers that were made and never started are removed.
/// Errors: as Client::Handshake; kUnsupported when the runtime says that it uses another cgroup driver.
/// Ownership: containers go on when the Runtime is destroyed; that waits for calls under way to be given up.
Result<OpenedRuntime> OpenCriRuntime(const CriOptions& options);

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_CRI_RUNTIME_H_
