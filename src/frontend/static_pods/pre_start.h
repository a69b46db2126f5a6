// Consent of device plug-ins to the start of a container (PreStartContainer): states and events. Pure.
#ifndef BERTH_FRONTEND_STATIC_PODS_PRE_START_H_
#define BERTH_FRONTEND_STATIC_PODS_PRE_START_H_

#include <cstdint>
#include <string>
#include <variant>

#include "base/result.h"

namespace berth::pods {

namespace pre_start {

// ---- states; `attempt` is the one to be started, `question` differs from that of every other one ----

struct NotAsked {
  friend bool operator==(const NotAsked&, const NotAsked&) = default;
};
struct Asked {
  int attempt = 0;
  std::uint64_t question = 0;
  friend bool operator==(const Asked&, const Asked&) = default;
};
struct Allowed {
  int attempt = 0;
  friend bool operator==(const Allowed&, const Allowed&) = default;
};
struct Refused {
  int attempt = 0;
  Code code{};
  std::string problem;
  friend bool operator==(const Refused&, const Refused&) = default;
};
/// All plug-ins are there.
using Present = std::variant<NotAsked, Asked, Allowed, Refused>;
/// A plug-in is away and waited for, and that was told.
struct Away {
  Present before;  ///< goes on meanwhile
  friend bool operator==(const Away&, const Away&) = default;
};

// ---- events ----

struct PluginLeft {};
/// All are there.
struct PluginsBack {};
struct Ask {
  int attempt = 0;
  std::uint64_t question = 0;
};
struct Answer {
  std::uint64_t question = 0;
  Result<void> outcome;
};
/// The refusal was taken note of: it is asked again.
struct Forget {};

}  // namespace pre_start

using PreStart = std::variant<pre_start::Present, pre_start::Away>;
using PreStartEvent =
    std::variant<pre_start::PluginLeft, pre_start::PluginsBack, pre_start::Ask, pre_start::Answer, pre_start::Forget>;

/// The state that follows. An event that means nothing in a state changes nothing. The test has a table of both.
PreStart Follow(PreStart state, PreStartEvent event);

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_PRE_START_H_
