#include "host/os/node_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/text.h"
#include "host/os/whole_file.h"

namespace berth::os {
namespace {

struct Column {
  std::size_t target;  // of the destination
  std::size_t mask;    // or length of the prefix
  std::size_t metric;
  int metric_base;
  std::size_t interface;
};

bool IsZero(std::string_view text) { return !text.empty() && text.find_first_not_of('0') == std::string_view::npos; }

std::string DefaultOf(std::string_view route, const Column& at) {
  std::string best;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const std::string_view line : Split(route, '\n')) {
    const std::vector<std::string_view> words = SplitWords(line);
    if (words.size() <= std::max(at.metric, at.interface)) continue;
    if (!IsZero(words[at.target]) || !IsZero(words[at.mask])) continue;
    std::uint64_t metric = 0;
    const std::string_view text = words[at.metric];
    if (std::from_chars(text.data(), text.data() + text.size(), metric, at.metric_base).ec != std::errc()) continue;
    if (metric >= least || words[at.interface] == "lo") continue;  // unreachable is a route of "lo"
    least = metric;
    best = words[at.interface];
  }
  return best;
}

/// "": no address that others could use.
std::string AddressText(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address->sa_family == AF_INET) {
    const auto* const of = reinterpret_cast<const sockaddr_in*>(address);
    constexpr std::uint32_t kLinkLocal = 0xa9fe0000;
    if ((ntohl(of->sin_addr.s_addr) & 0xffff0000) == kLinkLocal) return "";
    bytes = &of->sin_addr;
  } else if (address->sa_family == AF_INET6) {
    const auto* const of = reinterpret_cast<const sockaddr_in6*>(address);
    if (IN6_IS_ADDR_LINKLOCAL(&of->sin6_addr)) return "";
    bytes = &of->sin6_addr;
  }
  if (bytes == nullptr || ::inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr) return "";
  return text.data();
}

/// Of one family, on that interface, or on any but the loopback where it is "".
std::string FirstAddress(const ifaddrs* list, int family, std::string_view interface) {
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) continue;
    if ((entry->ifa_flags & IFF_LOOPBACK) != 0 || (entry->ifa_flags & IFF_UP) == 0) continue;
    if (!interface.empty() && interface != entry->ifa_name) continue;
    if (std::string text = AddressText(entry->ifa_addr); !text.empty()) return text;
  }
  return "";
}

}  // namespace

std::string DefaultInterface(std::string_view route) {
  return DefaultOf(route, {.target = 1, .mask = 7, .metric = 6, .metric_base = 10, .interface = 0});
}

std::string DefaultInterface6(std::string_view route) {
  return DefaultOf(route, {.target = 0, .mask = 1, .metric = 5, .metric_base = 16, .interface = 9});
}

std::vector<std::string> NodeAddresses() {
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
  std::vector<std::string> out;
  const auto add = [&](int family, const std::string& interface) {
    if (std::string text = FirstAddress(list.get(), family, interface); !text.empty()) out.push_back(std::move(text));
  };
  const std::string v4 = DefaultInterface(TextOf("/proc/net/route"));
  const std::string v6 = DefaultInterface6(TextOf("/proc/net/ipv6_route"));
  if (!v4.empty()) add(AF_INET, v4);
  if (!v6.empty()) add(AF_INET6, v6);
  if (!out.empty()) return out;
  add(AF_INET, "");
  if (out.empty()) add(AF_INET6, "");
  return out;
}

}  // namespace berth::os
