// Result of a call to an API server: a value, or an error with the server's status and reason.
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_ANSWER_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_ANSWER_H_

#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace berth::kube {

/// An Error, and what the server said if it was reached.
struct CallError : Error {
  CallError() = default;
  CallError(Error error) : Error(std::move(error)) {}  // NOLINT(google-explicit-constructor): as any other error

  int status = 0;      ///< of HTTP, or of the Status a stream ended with; 0: none
  std::string reason;  ///< "AlreadyExists", "Expired", ...; "": none
  std::string cause;   ///< the first of the reasons behind it
  std::optional<std::chrono::seconds> retry_after;

  /// The state asked for is no longer kept: list again.
  bool Gone() const { return status == 410 || reason == "Expired" || reason == "Gone"; }
};

template <class T>
class [[nodiscard]] Answer : public std::expected<T, CallError> {
  using Base = std::expected<T, CallError>;

 public:
  using Base::Base;
};

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_ANSWER_H_
