#include "node/pods/pod_stage.h"

#include <fmt/core.h>

#include <cstdint>
#include <type_traits>
#include <utility>

namespace berth::pods {
namespace {

/// Makes one function of several, one for each alternative of a variant.
template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

Why WhyItWaits(const Waiting& waiting) {
  return std::visit(
      Overloaded{
          [](const NotDecided&) { return Why(); },
          [](const LedgerNotSaved& of) { return Why{.reason = "LedgerNotSaved", .message = of.problem}; },
          [](const NodeUnderPressure& of) { return Why{.reason = "NodeUnderPressure", .message = of.conditions}; },
          [](const WaitingForRelease& of) {
            return Why{.reason = "WaitingForRelease", .message = of.message, .details = of.details};
          },
          [](const WaitingForPlugin& of) {
            return Why{.reason = std::string(kWaitingForPlugin), .message = WaitsForPlugin(of.resource)};
          },
          [](const AskingPlugin&) {
            return Why{.reason = "AskingPlugin", .message = "a device plug-in is asked which devices it prefers"};
          },
          [](const AllocatingDevices&) {
            return Why{.reason = "AllocatingDevices", .message = "device plug-ins are asked for its devices"};
          },
      },
      waiting);
}

template <class S>
bool Is(const Stage& stage) {
  return std::holds_alternative<S>(stage);
}

/// One overload for each event, which may be moved from.
struct Transition {
  Stage& stage;

  void operator()(pod_event::Wait& event) const {
    if (Is<Waiting>(stage) || Is<Rejected>(stage) || Is<Admitted>(stage)) stage = std::move(event.reason);
  }
  void operator()(const pod_event::Answer& event) const {
    if (event.question == 0 || event.question != QuestionOf(stage)) return;
    auto& waiting = std::get<Waiting>(stage);
    if (std::holds_alternative<AskingPlugin>(waiting))
      waiting = AskingPlugin();
    else
      waiting = AllocatingDevices();
  }
  void operator()(pod_event::Reject& event) const {
    if (Is<Waiting>(stage) || Is<Rejected>(stage)) stage = std::move(event.decision);
  }
  void operator()(pod_event::Admit& event) const {
    if (Is<Waiting>(stage) || Is<Foreign>(stage)) stage = Admitted{.at = std::move(event.at)};
  }
  void operator()(pod_event::Evict& event) const {
    if (Is<Admitted>(stage)) stage = Rejected{.why = std::move(event.why), .admitted_at = AdmittedAt(stage)};
  }
  void operator()(const pod_event::End&) const {
    if (Is<Ending>(stage)) return;
    stage = Ending{.why = WhyOf(stage),
                   .admitted_at = AdmittedAt(stage),
                   .rejected = Is<Rejected>(stage),
                   .place_free = Is<Done>(stage)};
  }
  void operator()(const pod_event::GiveBack&) const {
    if (auto* const ending = std::get_if<Ending>(&stage))
      ending->place_free = true;
    else if (Is<Waiting>(stage) || Is<Admitted>(stage))
      stage = Done{.admitted_at = AdmittedAt(stage)};
  }
  void operator()(const pod_event::RemoveFolders&) const {
    if (auto* const ending = std::get_if<Ending>(&stage)) ending->folders = Ending::Folders::kBeingRemoved;
  }
  void operator()(const pod_event::FoldersGone&) const {
    if (auto* const ending = std::get_if<Ending>(&stage)) ending->folders = Ending::Folders::kGone;
  }
  void operator()(pod_event::Watch& event) const { stage = Foreign{.why = std::move(event.why)}; }
};

}  // namespace

Stage Follow(Stage stage, PodEvent event) {
  std::visit(Transition{stage}, event);
  return stage;
}

Why WhyOf(const Stage& stage) {
  return std::visit(
      [](const auto& s) {
        if constexpr (requires { s.why; })
          return s.why;
        else if constexpr (std::is_same_v<decltype(s), const Waiting&>)
          return WhyItWaits(s);
        else
          return Why();
      },
      stage);
}

std::uint64_t QuestionOf(const Stage& stage) {
  const auto* const waiting = std::get_if<Waiting>(&stage);
  if (waiting == nullptr) return 0;
  if (const auto* const asking = std::get_if<AskingPlugin>(waiting)) return asking->question;
  if (const auto* const allocating = std::get_if<AllocatingDevices>(waiting)) return allocating->question;
  return 0;
}

const std::string& AdmittedAt(const Stage& stage) {
  static const std::string kNone;
  return std::visit(
      [](const auto& s) -> const std::string& {
        if constexpr (requires { s.admitted_at; })
          return s.admitted_at;
        else if constexpr (requires { s.at; })
          return s.at;
        else
          return kNone;
      },
      stage);
}

std::string WaitsForPlugin(std::string_view resource) {
  return fmt::format("the device plug-in of {} is not there, and is waited for", resource);
}

}  // namespace berth::pods
