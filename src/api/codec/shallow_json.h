// One level of a JSON text: where its members and items are, without making values of what is in them.
//
// A list of objects may be many times as large in memory as it is as text; of each object Berth needs a few fields at
// first, and often no others. Values are passed on as they stand in the text; whether what is in them is JSON at all is
// known to whoever reads them.
#ifndef BERTH_API_CODEC_SHALLOW_JSON_H_
#define BERTH_API_CODEC_SHALLOW_JSON_H_

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::codec {

/// visit(key, value) for each member of the object that is all of `text`; keys with escapes come as they are written,
/// without quotes. Errors: kInvalid when `text` is no object; those of visit, which end it.
Result<void> EachMember(std::string_view text,
                        const std::function<Result<void>(std::string_view key, std::string_view value)>& visit);

/// visit(value) for each item of the array that is all of `text`. Errors: likewise.
Result<void> EachItem(std::string_view text, const std::function<Result<void>(std::string_view value)>& visit);

/// The text that a JSON string stands for. Errors: kInvalid when `value` is no string.
Result<std::string> StringIn(std::string_view value);

}  // namespace berth::codec

#endif  // BERTH_API_CODEC_SHALLOW_JSON_H_
