// One probe: an HTTP request, a connection, a health check of gRPC, a command in a container. Waits; for threads that
// may.
#ifndef BERTH_FRONTEND_PROBES_ASK_H_
#define BERTH_FRONTEND_PROBES_ASK_H_

#include <cstddef>
#include <string>

#include "frontend/probes/target.h"
#include "host/os/clock.h"

namespace berth::probes {

/// What came of it.
struct Outcome {
  enum class Kind {
    kSuccess,
    kWarning,  ///< a success with something to say: a redirection that leads elsewhere, or no TLS where it was expected
    kFailure,
    kError,  ///< it could not be asked: says nothing about the container
  };
  Kind kind = Kind::kError;
  std::string text;  ///< why, for people; bounded

  bool success() const { return kind == Kind::kSuccess || kind == Kind::kWarning; }
};

/// Most of an answer's body or of a command's output that is looked at.
inline constexpr std::size_t kMostAnswer = std::size_t{10} << 10;

/// Waits `limit` at most, and until `cancel_fd` is readable or closed at its other side (-1: none): kError then.
/// Thread: any.
Outcome Ask(Target target, os::Millis limit, int cancel_fd);

}  // namespace berth::probes

#endif  // BERTH_FRONTEND_PROBES_ASK_H_
