// Text from outside as characters. Pure.
#ifndef BERTH_BASE_UTF8_H_
#define BERTH_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace berth {

/// Bytes of the UTF-8 character at the start of `text`; 0 if there is none. Requires: text is not empty.
std::size_t CharacterLength(std::string_view text);

}  // namespace berth

#endif  // BERTH_BASE_UTF8_H_
