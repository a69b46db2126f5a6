// A drawing as PNG, made of its SVG by librsvg.
#ifndef BERTH_CMD_BERTH_PNG_H_
#define BERTH_CMD_BERTH_PNG_H_

#include <string>

#include "base/result.h"

namespace berth::cli {

/// The pixels of `svg`, a drawing of ours, twice as many each way as it says, or as many as a picture can have. The
/// library is loaded with the first call and not with the program. Thread: any.
/// Errors: kUnsupported with the cure when librsvg is not installed, kInvalid with its words when it cannot draw this.
Result<std::string> PngOfSvg(const std::string& svg);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_PNG_H_
