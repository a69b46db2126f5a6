#include "daemon/cluster_access.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "os/fs.h"

namespace berth::daemon {
namespace {

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

Result<kube::Access> LoadClusterAccess(const manifest::PublishSettings& settings) {
  BERTH_TRY(const std::unique_ptr<os::Fs> fs, os::OpenFs("/"));
  auto access = settings.kubeconfig.empty()
                    ? kube::LoadServiceAccount(*fs, {.host = Environment("KUBERNETES_SERVICE_HOST"),
                                                     .port = Environment("KUBERNETES_SERVICE_PORT")})
                    : kube::LoadKubeconfig(*fs, settings.kubeconfig);
  if (!access) return Wrap(std::move(access).error(), "publish.kubeconfig");
  return access;
}

}  // namespace berth::daemon
