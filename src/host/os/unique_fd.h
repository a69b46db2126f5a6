// A file descriptor that closes itself.
#ifndef BERTH_HOST_OS_UNIQUE_FD_H_
#define BERTH_HOST_OS_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace berth::os {

class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& o) noexcept {
    std::swap(fd_, o.fd_);  // o closes the old one
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() { *this = UniqueFd(); }

 private:
  int fd_;
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_UNIQUE_FD_H_
