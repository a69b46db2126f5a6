#include "host/os/cgroup_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <cerrno>

#include "host/os/unique_fd.h"

namespace berth::os {

Result<bool> EnterCgroupNamespaceOfInit() {
  constexpr const char* kOfInit = "/proc/1/ns/cgroup";
  const UniqueFd fd(::open(kOfInit, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return FailErrno("open", kOfInit, errno);
  struct stat of_init{};
  struct stat own{};
  if (::fstat(fd.get(), &of_init) == 0 && ::stat("/proc/thread-self/ns/cgroup", &own) == 0 &&
      of_init.st_ino == own.st_ino && of_init.st_dev == own.st_dev)
    return false;
  if (::setns(fd.get(), CLONE_NEWCGROUP) != 0) return FailErrno("enter", kOfInit, errno);
  return true;
}

}  // namespace berth::os
