#include "host/os/signal_names.h"

#include <signal.h>
#include <string.h>

#include <array>
#include <utility>

#include "base/text.h"

namespace berth::os {
namespace {

/// Other names of the same signals.
constexpr std::array<std::pair<std::string_view, int>, 3> kAliases{
    {{"CLD", SIGCHLD}, {"IOT", SIGABRT}, {"POLL", SIGIO}}};

std::optional<int> RealTime(std::string_view name) {
  if (name == "RTMIN") return SIGRTMIN;
  if (name == "RTMAX") return SIGRTMAX;
  const bool up = name.starts_with("RTMIN+");
  if (!up && !name.starts_with("RTMAX-")) return std::nullopt;
  const auto steps = ParseDecimal<int>(name.substr(6));
  if (!steps || *steps > SIGRTMAX - SIGRTMIN) return std::nullopt;
  return up ? SIGRTMIN + *steps : SIGRTMAX - *steps;
}

}  // namespace

std::optional<int> SignalNumber(std::string_view name) {
  if (!name.starts_with("SIG")) return std::nullopt;
  name.remove_prefix(3);
  for (int signal = 1; signal < SIGRTMIN; ++signal)
    if (const char* known = ::sigabbrev_np(signal); known != nullptr && name == known) return signal;
  for (const auto& [alias, signal] : kAliases)
    if (name == alias) return signal;
  return RealTime(name);
}

}  // namespace berth::os
