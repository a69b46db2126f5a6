#include "frontend/nri_agent/launched.h"

#include <atomic>

#include "frontend/nri_agent/passive_handler.h"
#include "host/os/clock.h"
#include "rpc/nri/plugin.h"

namespace berth::nri_agent {
namespace {

constexpr os::Millis kBetweenLooks{5};

class Leaver final : public PassiveHandler {
 public:
  void Joined(const nri::Runtime&) override { known_ = true; }
  bool known() const { return known_; }

 private:
  std::atomic<bool> known_ = false;
};

template <class Done>
bool Becomes(os::Millis within, const Done& done) {
  for (const os::MonoTime until = os::SystemClock().Now() + within; os::SystemClock().Now() < until;) {
    if (done()) return true;
    os::SleepFor(kBetweenLooks);
  }
  return done();
}

}  // namespace

Result<void> LeaveLaunched(const nri::Launch& launch, os::Millis asked, os::Millis taken_in) {
  Leaver leaver;
  BERTH_TRY(const auto plugin,
            nri::Plugin::Start({.name = launch.name, .index = launch.index, .launched_socket = launch.socket}, leaver));
  static_cast<void>(Becomes(taken_in, [&] { return leaver.known() || plugin->status().over; }));
  if (!leaver.known()) return Fail(Code::kTimeout, "the runtime did not take it in: " + plugin->status().last_error);
  const auto is_over = [&] { return plugin->status().over; };
  static_cast<void>(Becomes(asked, [&] { return plugin->status().joined || is_over(); }));
  if (plugin->status().joined) static_cast<void>(Becomes(asked, is_over));  // it reads the answer, and goes on
  return {};
}

}  // namespace berth::nri_agent
