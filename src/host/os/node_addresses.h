// Node IP detection: the addresses of this node that others reach it by, from the interfaces of its default routes.
#ifndef BERTH_HOST_OS_NODE_ADDRESSES_H_
#define BERTH_HOST_OS_NODE_ADDRESSES_H_

#include <string>
#include <string_view>
#include <vector>

namespace berth::os {

/// Interface of the default route with the least metric in the text of /proc/net/route; "": there is none.
std::string DefaultInterface(std::string_view route);
/// The same in the text of /proc/net/ipv6_route.
std::string DefaultInterface6(std::string_view route);

/// The first address of each family, IPv4 first, that the interface of that family's default route has; where no such
/// route has one, those of the first interface that is up and not the loopback. Link-local addresses do not count.
/// Empty: this node has none. Thread: any.
std::vector<std::string> NodeAddresses();

}  // namespace berth::os

#endif  // BERTH_HOST_OS_NODE_ADDRESSES_H_
