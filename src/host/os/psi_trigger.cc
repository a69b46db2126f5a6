#include "host/os/psi_trigger.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace berth::os {

Result<UniqueFd> OpenPressureTrigger(const std::string& file, Millis stall, Millis window) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == EOPNOTSUPP)
      return Fail(Code::kUnsupported, "open " + file + ": this kernel keeps no pressure figures");
    return FailErrno("open", file, errno);
  }
  // With its final zero: the kernel takes the length as written.
  const std::string text = "some " + std::to_string(stall.count() * 1000) + " " + std::to_string(window.count() * 1000);
  if (::write(fd.get(), text.c_str(), text.size() + 1) < 0) {
    if (errno == EOPNOTSUPP) return Fail(Code::kUnsupported, "set " + file + ": this kernel keeps no pressure figures");
    return FailErrno("set a trigger on", file, errno);
  }
  return fd;
}

}  // namespace berth::os
