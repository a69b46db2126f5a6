// User lookup in this host's /etc/passwd and /etc/group: primary and supplementary groups, without a name service.
#ifndef BERTH_HOST_OS_ACCOUNTS_H_
#define BERTH_HOST_OS_ACCOUNTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::os {

struct Account {
  std::uint32_t group = 0;            ///< its own
  std::vector<std::uint32_t> groups;  ///< others it is a member of
  friend bool operator==(const Account&, const Account&) = default;
};

/// The user with that number, as the files `passwd` and `group` in `folder` have it. nullopt: `passwd` does not, or is
/// not there. Lines that make no sense are passed over. Errors: a file that is there cannot be read.
Result<std::optional<Account>> FindAccount(std::uint32_t user, const std::string& folder = "/etc");

}  // namespace berth::os

#endif  // BERTH_HOST_OS_ACCOUNTS_H_
