// A disk that can be full or read-only.
#ifndef BERTH_TESTS_INTEGRATION_SMALL_DISK_H_
#define BERTH_TESTS_INTEGRATION_SMALL_DISK_H_

#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

namespace berth::testkit {

/// A small file system of its own, unmounted by the destructor.
class SmallDisk {
 public:
  SmallDisk(std::string path, const char* options, unsigned long flags = 0) : path_(std::move(path)) {
    std::error_code error;  // shows when mounting
    std::filesystem::create_directories(path_, error);
    mounted_ = ::mount("berth-test", path_.c_str(), "tmpfs", flags, options) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  void Fill() {
    std::ofstream out(path_ + "/filler");
    const std::string block(4096, 'x');
    while (out.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
  bool MakeReadOnly() { return ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0; }
  bool MakeWritable() { return ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT, nullptr) == 0; }
  void Free() { ::unlink((path_ + "/filler").c_str()); }

 private:
  std::string path_;
  bool mounted_ = false;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTS_INTEGRATION_SMALL_DISK_H_
