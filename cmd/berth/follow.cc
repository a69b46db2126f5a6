#include "berth/follow.h"

namespace berth::cli {

std::vector<const codec::Json*> Follower::New(const codec::Json& list) {
  std::vector<const codec::Json*> out;
  std::size_t same = 0;  // entries of the newest time in this list
  const std::string before = newest_;
  const std::size_t known = at_newest_;
  for (const codec::Json& entry : list) {
    const std::string time = Text(entry, "time");
    if (time < before || (time == before && ++same <= known)) continue;
    if (time != newest_) at_newest_ = 0;
    newest_ = time;
    ++at_newest_;
    out.push_back(&entry);
  }
  return out;
}

}  // namespace berth::cli
