// Bytes as text of 64 letters with padding (RFC 4648 section 4). Pure.
#ifndef BERTH_BASE_BASE64_H_
#define BERTH_BASE_BASE64_H_

#include <optional>
#include <string>
#include <string_view>

namespace berth {

std::string ToBase64(std::string_view bytes);
/// nullopt: it is none.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace berth

#endif  // BERTH_BASE_BASE64_H_
