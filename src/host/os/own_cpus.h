// The CPUs the calling process may run on, beside those of its cpuset: for a child between clone and exec. System calls
// only, no memory is taken.
#ifndef BERTH_HOST_OS_OWN_CPUS_H_
#define BERTH_HOST_OS_OWN_CPUS_H_

#include <vector>

namespace berth::os {

/// Drops an inherited affinity: the process may run on every CPU its cpuset allows.
void AllowAllCpus();

/// Whether this process may run on CPUs of its cpuset only: 0. Else an error number: EXDEV, it may run on others;
/// EBADMSG, what the kernel lists is no list of CPUs; or that of a system call. `cpu_list`: a descriptor of the
/// cpuset's effective CPUs; `buffer`: to read them into, as long as they may be.
int CheckOwnCpus(int cpu_list, std::vector<char>& buffer);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_OWN_CPUS_H_
