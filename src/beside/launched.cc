#include "beside/launched.h"

#include <atomic>

#include "beside/bystander.h"
#include "nri/plugin.h"
#include "os/clock.h"

namespace berth::beside {
namespace {

constexpr os::Millis kTakenIn{15'000};
/// Some ask at once what the plug-in makes of all there is; others (containerd 1.7) never do of one that they launched.
/// They wait two seconds for an answer.
constexpr os::Millis kAsked{3'000};
constexpr os::Millis kBetweenLooks{5};

class Leaver final : public Bystander {
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

Result<void> LeaveLaunched(const nri::Launch& launch) {
  Leaver leaver;
  BERTH_TRY(const auto plugin,
            nri::Plugin::Start({.name = launch.name, .index = launch.index, .launched_socket = launch.socket}, leaver));
  static_cast<void>(Becomes(kTakenIn, [&] { return leaver.known() || plugin->status().over; }));
  if (!leaver.known()) return Fail(Code::kTimeout, "the runtime did not take it in: " + plugin->status().last_error);
  if (!Becomes(kAsked, [&] { return plugin->status().joined; })) return {};
  const auto answered = plugin->UpdateContainers({}, os::SystemClock().Now() + kAsked);  // it has gone on then
  return answered ? Result<void>() : std::unexpected(answered.error());
}

}  // namespace berth::beside
