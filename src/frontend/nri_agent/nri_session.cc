#include "frontend/nri_agent/nri_session.h"

namespace berth::nri_agent {

/// What is being looked at is looked at to its end: it says what was there.
void NriSession::Leave(os::MonoTime now) {
  connection_ = Away{.since = now};
  if (const auto* const synchronized = As<Synchronized>()) knowledge_ = Outdated{.knew_all = synchronized->saved};
}

Synchronizing* NriSession::Begin(nri::Inventory inventory) {
  if (As<Aside>() != nullptr) return nullptr;
  Synchronizing& out = knowledge_.emplace<Synchronizing>();
  out.number = ++begun_;
  out.inventory = std::move(inventory);
  return &out;
}

void NriSession::End(bool saved) {
  if (As<Synchronizing>() == nullptr) return;
  if (joined())
    knowledge_ = Synchronized{.saved = saved};
  else
    knowledge_ = Outdated{.knew_all = saved};
}

void NriSession::StepAside() {
  if (As<Aside>() == nullptr) knowledge_ = Aside();
}

void NriSession::StepBack() {
  if (As<Aside>() != nullptr) knowledge_ = Outdated();
}

void NriSession::NoteTold() {
  if (Away* const away = std::get_if<Away>(&connection_)) away->told = true;
}

std::optional<os::MonoTime> NriSession::untold_since() const {
  const Away* const away = std::get_if<Away>(&connection_);
  return away != nullptr && !away->told ? std::optional(away->since) : std::nullopt;
}

bool NriSession::started() const {
  if (As<Synchronizing>() == nullptr && As<NotSynchronized>() == nullptr) return true;
  return !joined() && !untold_since();
}

}  // namespace berth::nri_agent
