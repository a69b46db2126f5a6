// Requests with our credentials on them. Internal to the component.
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_KUBE_SESSION_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_KUBE_SESSION_H_

#include <memory>
#include <string>

#include "host/os/unique_fd.h"
#include "kubernetes/kube_client/access.h"
#include "rpc/http/http_client.h"

namespace berth::kube {

/// Thread: one at a time.
class Session {
 public:
  /// Errors: kIo when certificates at hand find no place in memory; of os::OpenFs.
  static Result<std::unique_ptr<Session>> Open(Access access);

  const Access& access() const { return access_; }
  /// A request of `path` ("/api/v1/..." with its query). Reads the token's file. Errors: when that cannot be read, or
  /// holds no token.
  Result<http::ClientRequest> Prepare(std::string method, const std::string& path);

 private:
  explicit Session(Access access) : access_(std::move(access)) {}
  Result<std::string> PlaceOf(const Pem& pem, os::UniqueFd& keeper);
  Result<std::string> ReadToken();

  Access access_;
  std::unique_ptr<os::Fs> fs_;
  http::ClientTls tls_;
  std::string base_;        // before each path
  std::string connect_to_;  // the server's host and port, when its certificate has another name
  os::UniqueFd authorities_;
  os::UniqueFd certificate_;
  os::UniqueFd key_;
};

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_KUBE_SESSION_H_
