#include "host/os/affinity.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

namespace berth::os {
namespace {

constexpr std::size_t kWordsOfMask = 128;  // 8192 CPUs

}  // namespace

AffinityMask AnyCpu() { return AffinityMask(kWordsOfMask, ~std::uint64_t{0}); }

Result<AffinityMask> AffinityOf(int thread) {
  AffinityMask mask(kWordsOfMask);
  if (::syscall(SYS_sched_getaffinity, thread, mask.size() * sizeof mask.front(), mask.data()) < 0)
    return FailErrno("read the affinity of thread", std::to_string(thread), errno);
  return mask;
}

Result<void> SetAffinity(int thread, const AffinityMask& mask) {
  if (::syscall(SYS_sched_setaffinity, thread, mask.size() * sizeof mask.front(), mask.data()) < 0)
    return FailErrno("set the affinity of thread", std::to_string(thread), errno);
  return {};
}

}  // namespace berth::os
