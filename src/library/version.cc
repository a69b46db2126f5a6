#include "berth/version.h"

namespace berth {

std::string_view RunningVersion() { return kVersion; }

}  // namespace berth
