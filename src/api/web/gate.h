// Access control of the live page: the token, and protection against cross-site requests.
#ifndef BERTH_API_WEB_GATE_H_
#define BERTH_API_WEB_GATE_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "rpc/http/call.h"

namespace berth::web {

struct GateOptions {
  bool tls = false;
  /// The page is asked for by names of this host alone ("localhost", "127.0.0.1", "[::1]"): what another name leads
  /// here is refused, so no site can make its own name mean this host and be let in.
  bool this_host_only = true;
  std::string token;  ///< "": nobody is asked for one
};

/// Less is no secret.
inline constexpr std::size_t kShortestToken = 16;
/// The token in a file, without white space around it. Errors: of reading it; kInvalid for a file that others than its
/// owner and group may read, and for a token that is shorter or has characters other than visible ASCII.
Result<std::string> ReadToken(const std::string& file);

/// Takes as long wherever the difference is.
bool SameSecret(std::string_view a, std::string_view b);

/// Thread: any.
class Gate {
 public:
  static constexpr std::size_t kMostSessions = 64;  ///< the oldest ends for a new one
  static constexpr os::Millis kSessionTime{std::chrono::hours(12)};

  /// `clock` outlives this.
  Gate(GateOptions options, const os::Clock& clock) : options_(std::move(options)), clock_(clock) {}

  bool asks() const { return !options_.token.empty(); }
  /// A file of the page may be had: it holds nothing of the node. nullopt: yes.
  std::optional<http::Answer> RefuseFile(const http::Request& request) const;
  /// A call of the page itself may be answered, whoever makes it. Calls that a browser makes for another page may not.
  std::optional<http::Answer> RefuseStranger(const http::Request& request) const;
  /// Likewise, and the caller has the token ("Authorization: Bearer …") or a session.
  std::optional<http::Answer> Refuse(const http::Request& request) const BERTH_EXCLUDES(mutex_);

  /// Body: the token. Begins a session, which the browser keeps in a cookie that no script can read.
  http::Answer Login(const http::Request& request) BERTH_EXCLUDES(mutex_);
  http::Answer Logout(const http::Request& request) BERTH_EXCLUDES(mutex_);

 private:
  struct Session {
    std::string id;
    os::MonoTime ends;
  };
  bool Knows(const http::Request& request) const BERTH_EXCLUDES(mutex_);
  std::string Cookie(std::string_view value, std::string_view age) const;

  const GateOptions options_;
  const os::Clock& clock_;
  mutable Mutex mutex_;
  std::deque<Session> sessions_ BERTH_GUARDED_BY(mutex_);  // the oldest first
};

}  // namespace berth::web

#endif  // BERTH_API_WEB_GATE_H_
