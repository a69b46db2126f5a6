// URL path matching for HTTP routes: percent-decoding, segments, and the parameters in them. Pure.
#ifndef BERTH_RPC_HTTP_ROUTE_H_
#define BERTH_RPC_HTTP_ROUTE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::http {

/// The bytes behind %XX. nullopt when a '%' is not followed by two hexadecimal digits, and for a NUL byte.
std::optional<std::string> DecodePercent(std::string_view text);

/// What the segments "{}" (something) and "{?}" (something or nothing) of `pattern` stand for in `path`, whose segments
/// have been decoded one by one: "%2F" is part of a segment. nullopt when it does not fit.
std::optional<std::vector<std::string>> MatchPath(std::string_view pattern, const std::vector<std::string>& path);

/// The decoded segments of "/a/b": "", "a", "b". nullopt as DecodePercent.
std::optional<std::vector<std::string>> SplitPath(std::string_view path);

}  // namespace berth::http

#endif  // BERTH_RPC_HTTP_ROUTE_H_
