#include "berth/progress.h"

#include "view/style.h"

namespace berth::cli {
namespace {

constexpr std::string_view kBeginLine = "\r\x1b[K";
constexpr os::Millis kBetween{100};

}  // namespace

Progress::Progress(const Session& session)
    : session_(session), shown_(session.around().error_terminal), next_(os::SystemClock().Now() + kBetween) {}

void Progress::Tell(const std::string& text) {
  constexpr int kWidest = 79;
  if (!shown_) return;
  const os::MonoTime now = os::SystemClock().Now();
  if (now < next_) return;
  next_ = now + kBetween;
  written_ = true;
  session_.err() << kBeginLine << view::CutToWidth(view::WithoutControls(text), kWidest) << std::flush;
}

void Progress::Clear() {
  if (written_) session_.err() << kBeginLine << std::flush;
  written_ = false;
}

}  // namespace berth::cli
