// Pipes and socket pairs between processes.
#ifndef BERTH_HOST_OS_PIPE_H_
#define BERTH_HOST_OS_PIPE_H_

#include "base/result.h"
#include "host/os/unique_fd.h"

namespace berth::os {

// Errors of both: kExhausted (no descriptors left), ... Ownership: the caller's.

/// A pipe; both ends close on exec, the reading end does not block.
struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};
Result<Pipe> MakePipe();

/// A pair of connected sockets that carry whole messages (SOCK_SEQPACKET), closed on exec.
struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};
Result<SocketPair> MakeSocketPair();

}  // namespace berth::os

#endif  // BERTH_HOST_OS_PIPE_H_
