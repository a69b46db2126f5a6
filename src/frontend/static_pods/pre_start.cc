#include "frontend/static_pods/pre_start.h"

#include <utility>

namespace berth::pods {
namespace {

using pre_start::Away;
using pre_start::Present;

/// One overload for each event, which may be moved from.
struct PreStartTransition {
  PreStart& state;

  void operator()(const pre_start::PluginLeft&) const {
    if (auto* const present = std::get_if<Present>(&state)) state = Away{std::move(*present)};
  }
  void operator()(const pre_start::PluginsBack&) const {
    if (auto* const away = std::get_if<Away>(&state)) state = Present(std::move(away->before));
  }
  void operator()(const pre_start::Ask& event) const {
    if (auto* const present = std::get_if<Present>(&state))
      *present = pre_start::Asked{.attempt = event.attempt, .question = event.question};
  }
  void operator()(pre_start::Answer& event) const {
    auto* const away = std::get_if<Away>(&state);
    Present& present = away != nullptr ? away->before : std::get<Present>(state);
    const auto* const asked = std::get_if<pre_start::Asked>(&present);
    if (asked == nullptr || asked->question != event.question) return;
    const int attempt = asked->attempt;
    if (event.outcome)
      present = pre_start::Allowed{attempt};
    else
      present = pre_start::Refused{attempt, event.outcome.error().code, std::move(event.outcome.error().message)};
  }
  void operator()(const pre_start::Forget&) const {
    auto* const present = std::get_if<Present>(&state);
    if (present != nullptr && std::holds_alternative<pre_start::Refused>(*present)) *present = pre_start::NotAsked();
  }
};

}  // namespace

PreStart Follow(PreStart state, PreStartEvent event) {
  std::visit(PreStartTransition{state}, event);
  return state;
}

}  // namespace berth::pods
