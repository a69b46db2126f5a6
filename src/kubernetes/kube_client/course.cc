#include "kubernetes/kube_client/course.h"

namespace berth::kube {
namespace {

constexpr os::Millis kShort{1'000};
constexpr int kBadRequest = 400;
constexpr int kUnprocessable = 422;

}  // namespace

Course::Step Course::step() const {
  if (listed_) return Step::kWatch;
  return initial_events_ ? Step::kInitialEvents : Step::kList;
}

std::string Course::From() const {
  if (listed_) return version_;
  if (newest_ || !selective_) return "";
  return version_.empty() ? "0" : version_;
}

void Course::Listed(const std::string& version) {
  listed_ = true;
  newest_ = false;
  version_ = version;
}

void Course::Seen(const std::string& version) {
  if (!version.empty()) version_ = version;
}

bool Course::EndedWell(os::Millis lasted, bool any) { return any || lasted >= kShort; }

void Course::Failed(const CallError& error) {
  const bool future = error.cause == "ResourceVersionTooLarge";
  if (!listed_ && initial_events_ && (error.status == kBadRequest || error.status == kUnprocessable)) {
    initial_events_ = false;
  } else if (error.Gone() || future) {
    // First from what we saw last, which costs the server little; if it does not know that either, from what it has.
    if (!listed_ || future) newest_ = true;
    listed_ = false;
  }
}

}  // namespace berth::kube
