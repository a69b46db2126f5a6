#include "beside/guests.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::beside {

GuestPod* Guests::Find(const std::string& uid) {
  const auto pod = pods_.find(uid);
  return pod == pods_.end() ? nullptr : &pod->second;
}

Guest& Guests::Know(const std::string& uid, const nri::Container& container, int attempt) {
  Guest& guest = pods_[uid].guests[container.name];
  if (guest.id != container.id) guest = Guest{.id = container.id, .attempt = std::max(attempt, guest.attempt)};
  return guest;
}

Guest* Guests::Find(const std::string& uid, const nri::Container& container) {
  GuestPod* const pod = Find(uid);
  if (pod == nullptr) return nullptr;
  const auto guest = pod->guests.find(container.name);
  return guest != pod->guests.end() && guest->second.id == container.id ? &guest->second : nullptr;
}

void Guests::Forget(const std::string& uid, const nri::Container& container) {
  if (Find(uid, container) != nullptr) pods_[uid].guests.erase(container.name);
}

void TakeContainer(Pod& pod, Container container, const GuestPod& known) {
  const auto is_it = [&](const Container& c) { return c.name == container.name; };
  if (const auto app = std::ranges::find_if(pod.containers, is_it); app != pod.containers.end()) {
    *app = std::move(container);
    return;
  }
  std::erase_if(pod.init_containers, is_it);
  const auto has_ended = [&](const Container& c) {
    const auto guest = known.guests.find(c.name);
    return guest != known.guests.end() && guest->second.ended;
  };
  for (Container& other : pod.containers)
    if (has_ended(other)) pod.init_containers.push_back(other);
  std::erase_if(pod.containers, has_ended);
  pod.containers.push_back(std::move(container));
}

}  // namespace berth::beside
