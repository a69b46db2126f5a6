#include "node/reconciler/pool_state.h"

#include <utility>

namespace berth::reconciler {
namespace {

/// One overload for each event, which may be moved from.
struct PoolTransition {
  PoolState& state;

  PoolTries Tries() const {
    const PoolTries* const tries = TriesOf(state);
    return tries != nullptr ? *tries : PoolTries();
  }

  void operator()(const pool_event::Change& event) const {
    PoolTries tries = Tries();
    if (event.until)
      state = PoolPostponed{.tries = std::move(tries), .until = *event.until};
    else
      state = PoolDue{std::move(tries)};
  }
  void operator()(const pool_event::Again&) const {
    if (std::holds_alternative<PoolPostponed>(state)) state = PoolDue{Tries()};
  }
  void operator()(const pool_event::Narrow&) const {
    if (std::holds_alternative<InForce>(state)) state = InForceNarrowed();
  }
  void operator()(const pool_event::Applied&) const {
    if (!IsInForce(state)) state = InForce();
  }
  void operator()(const pool_event::Postpone& event) const {
    if (!IsInForce(state)) state = PoolPostponed{.tries = Tries(), .until = event.until};
  }
  void operator()(const pool_event::LookAgain& event) const {
    if (IsInForce(state)) return;
    PoolTries tries = Tries();
    ++tries.looks;
    state = PoolPostponed{.tries = std::move(tries), .until = event.until};
  }
  void operator()(pool_event::Fail& event) const {
    if (IsInForce(state)) return;
    state = PoolPostponed{.tries = {.looks = 0, .problem = std::move(event.problem)}, .until = event.until};
  }
};

}  // namespace

const PoolTries* TriesOf(const PoolState& state) {
  if (const auto* const due = std::get_if<PoolDue>(&state)) return &due->tries;
  if (const auto* const postponed = std::get_if<PoolPostponed>(&state)) return &postponed->tries;
  return nullptr;
}

PoolState Follow(PoolState state, PoolEvent event) {
  std::visit(PoolTransition{state}, event);
  return state;
}

}  // namespace berth::reconciler
