// Files that a person names on a command line.
#ifndef BERTH_OS_INPUT_H_
#define BERTH_OS_INPUT_H_

#include <string>

#include "base/result.h"

namespace berth::os {

/// The whole of a file, or of standard input for "-". Relative paths start at the working directory.
/// Errors: as OpenFs and Fs::Read; the message starts with the file's name.
Result<std::string> ReadInput(const std::string& file);

}  // namespace berth::os

#endif  // BERTH_OS_INPUT_H_
