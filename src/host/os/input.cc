#include "host/os/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>

#include "host/os/fs.h"
#include "host/os/unique_fd.h"

namespace berth::os {

Result<std::string> ReadInput(const std::string& file) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return FailErrno("open", file, errno);
  std::string out;
  for (;;) {
    constexpr std::size_t kChunk = std::size_t{1} << 16;
    const std::size_t end = out.size();
    out.resize(end + kChunk);
    const ssize_t got = ::read(fd.get(), out.data() + end, kChunk);
    const int error = errno;
    out.resize(end + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return out;
    if (got < 0 && error != EINTR) return FailErrno("read", file, error);
    if (out.size() > Fs::kMaxFileSize) return Fail(Code::kInvalid, file + ": larger than 64 MiB");
  }
}

std::string OriginOf(const std::string& file) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(file, error);
  return file == "-" || error || !std::filesystem::is_regular_file(path, error) ? "" : path.string();
}

Result<std::string> WorkingFolder() {
  std::array<char, PATH_MAX> buffer{};
  if (::getcwd(buffer.data(), buffer.size()) == nullptr) return FailErrno("find the working directory", "", errno);
  return std::string(buffer.data());
}

}  // namespace berth::os
