#include "runtime/cri/unanswered_starts.h"

namespace berth::cri {
namespace {

constexpr os::Millis kBetweenRetries{5'000};

}  // namespace

std::vector<std::string> UnansweredStarts::TakeDue(os::MonoTime asked, os::MonoTime now) {
  std::erase_if(tried_, [&](const auto& entry) { return entry.second + kBetweenRetries <= now; });
  std::vector<std::string> out;
  std::erase_if(failed_, [&](const auto& entry) {
    if (entry.second >= asked) return false;
    if (tried_.emplace(entry.first, now).second) out.push_back(entry.first);
    return true;
  });
  return out;
}

}  // namespace berth::cri
