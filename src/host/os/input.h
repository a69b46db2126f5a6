// Files that a person names on a command line.
#ifndef BERTH_HOST_OS_INPUT_H_
#define BERTH_HOST_OS_INPUT_H_

#include <string>

#include "base/result.h"

namespace berth::os {

/// The whole of a file or pipe, or of standard input for "-", up to Fs::kMaxFileSize.
/// Errors: as open(2) and read(2), naming the file; kInvalid when it is larger.
Result<std::string> ReadInput(const std::string& file);

/// The whole path of a file that `file` names, whatever folder it is named from and whatever links lead there; "": "-",
/// and what is no regular file.
std::string OriginOf(const std::string& file);

/// What relative paths on a command line are seen from. Errors: as getcwd(2).
Result<std::string> WorkingFolder();

}  // namespace berth::os

#endif  // BERTH_HOST_OS_INPUT_H_
