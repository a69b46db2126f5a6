// "Did you mean ...?" for misspelt names.
#ifndef BERTH_BASE_SUGGEST_H_
#define BERTH_BASE_SUGGEST_H_

#include <span>
#include <string>
#include <string_view>

namespace berth {

/// The candidate nearest to `name` (case does not count much), "" if none is near enough to be worth naming. Of equally
/// near ones the first.
std::string_view Nearest(std::string_view name, std::span<const std::string_view> candidates);

/// "\"strickt\" is not known (did you mean \"strict\"? there are pack, spread, strict)".
std::string NotAmong(std::string_view value, std::span<const std::string_view> known);

}  // namespace berth

#endif  // BERTH_BASE_SUGGEST_H_
