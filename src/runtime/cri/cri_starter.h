// Starting containers: sandbox, image, container, in this order, with what went unanswered before looked at first.
#ifndef BERTH_RUNTIME_CRI_CRI_STARTER_H_
#define BERTH_RUNTIME_CRI_CRI_STARTER_H_

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/cri/ender.h"
#include "runtime/cri/shared.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::cri {

/// Thread: any number at a time, for one pod one after another.
class Starter {
 public:
  Starter(Shared& shared, Ender& ender) : shared_(shared), ender_(ender) {}

  /// Blocks until the container runs or came to nothing; what became of it is news.
  void Run(const runtime::StartRequest& request);

 private:
  struct NotStarted {
    std::string reason;  ///< the kubelet's, for the event
    Error error;
  };
  template <class T>
  using Outcome = std::expected<T, NotStarted>;
  static std::unexpected<NotStarted> Failed(const char* reason, Error error);

  Outcome<runtime::ContainerStatus> Try(const runtime::StartRequest& request);
  Result<std::string> EnsureSandbox(const runtime::StartRequest& request, SandboxSpec spec);
  Result<void> RemoveOthers(const SandboxPlan& plan);
  Result<std::optional<runtime::ContainerStatus>> EarlierTry(const runtime::StartRequest& request);
  Result<SandboxSpec> SandboxFor(const runtime::StartRequest& request) const;
  Result<runtime::StartRequest> Complete(runtime::StartRequest request, const std::string& sandbox);
  Result<std::vector<std::string>> AddressesOf(const std::string& uid, const std::string& sandbox);
  Result<void> AddHosts(runtime::StartRequest& request, const std::vector<std::string>& addresses) const;
  Result<void> SettleSecurity(runtime::StartRequest& request);
  Outcome<Image> EnsureImage(const runtime::StartRequest& request, const SandboxSpec& of);
  Outcome<Image> Pull(const runtime::StartRequest& request, const SandboxSpec& of);
  Result<std::string> PullWithSecrets(const runtime::StartRequest& request, const SandboxSpec& sandbox);
  Outcome<runtime::ContainerStatus> CreateAndStart(const runtime::StartRequest& request, const std::string& sandbox,
                                                   const SandboxSpec& of, const std::string& image);
  Outcome<std::optional<runtime::ContainerStatus>> StartCreated(const runtime::StartRequest& request,
                                                                const std::string& id, const std::string& cpus);
  runtime::ContainerStatus Presumed(const runtime::StartRequest& request, const std::string& id);
  std::string CpusFor(const runtime::StartRequest& request);

  Shared& shared_;
  Ender& ender_;
};

}  // namespace berth::cri

#endif  // BERTH_RUNTIME_CRI_CRI_STARTER_H_
