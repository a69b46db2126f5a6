// Bytes of files and names of directories, all of them at once.
#ifndef BERTH_HOST_OS_WHOLE_FILE_H_
#define BERTH_HOST_OS_WHOLE_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::os {

/// Goes on after signals and short writes. `path` is for the message. Errors: as write(2).
Result<void> WriteAll(int fd, std::string_view bytes, std::string_view path);

/// What is in the open directory, sorted, without "." and "..". `path` is for the message. Errors: as readdir(3).
Result<std::vector<std::string>> NamesIn(int directory, std::string_view path);

/// Of a file that any text will do for. "": it cannot be read.
std::string TextOf(const std::string& path);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_WHOLE_FILE_H_
