#include "host/os/own_cpus.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/text.h"

namespace berth::os {
namespace {

constexpr std::size_t kMaskWords = 128;  // 8192 CPUs

using CpuMask = std::array<std::uint64_t, kMaskWords>;

// Parses "0-3,8" into `mask`; false on anything unexpected.
bool ParseCpuList(const char* text, std::size_t size, CpuMask& mask) {
  std::uint64_t first = 0;
  std::uint64_t value = 0;
  bool in_range = false;
  bool digits = false;
  for (std::size_t i = 0; i <= size; ++i) {
    const char c = i < size ? text[i] : '\n';
    if (IsDigit(c)) {
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
      digits = true;
      if (value >= kMaskWords * 64) return false;
    } else if (c == '-' && digits && !in_range) {
      first = value;
      in_range = true;
      value = 0;
      digits = false;
    } else if (c == ',' || c == '\n') {
      if (!digits) return c == '\n' && !in_range;
      for (std::uint64_t cpu = in_range ? first : value; cpu <= value; ++cpu)
        mask[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
      if (c == '\n') return true;
      in_range = digits = false;
      value = 0;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

void AllowAllCpus() {
  CpuMask all;
  all.fill(~std::uint64_t{0});
  // Fails only when the cpuset has no CPU in common with it, which cannot be; the check that follows decides anyway.
  ::syscall(SYS_sched_setaffinity, 0, sizeof all, all.data());
}

int CheckOwnCpus(int cpu_list, std::vector<char>& buffer) {
  constexpr int kTries = 5;  // the set may be changed between the two looks
  for (int i = 0; i < kTries; ++i) {
    const ssize_t size = ::pread(cpu_list, buffer.data(), buffer.size(), 0);
    if (size < 0) return errno;
    CpuMask allowed{};
    if (!ParseCpuList(buffer.data(), static_cast<std::size_t>(size), allowed)) return EBADMSG;
    CpuMask mine{};
    if (::syscall(SYS_sched_getaffinity, 0, sizeof mine, mine.data()) < 0) return errno;
    bool inside = true;
    for (std::size_t word = 0; word < kMaskWords; ++word) inside = inside && (mine[word] & ~allowed[word]) == 0;
    if (inside) return 0;
  }
  return EXDEV;
}

}  // namespace berth::os
