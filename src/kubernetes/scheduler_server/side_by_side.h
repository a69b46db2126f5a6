// Many small pieces of work on a few threads at one time, waited for by whoever asked.
#ifndef BERTH_KUBERNETES_SCHEDULER_SERVER_SIDE_BY_SIDE_H_
#define BERTH_KUBERNETES_SCHEDULER_SERVER_SIDE_BY_SIDE_H_

#include <cstddef>
#include <functional>

#include "host/os/threads.h"

namespace berth::scheduler_server {

/// The asking thread works, too: without a free thread it does all of it.
class SideBySide {
 public:
  /// `threads`: how many may work on one question, the asking one included.
  explicit SideBySide(std::size_t threads) : helpers_(threads == 0 ? 0 : threads - 1), pool_({.most = helpers_}) {}

  /// Does work(0) to work(count - 1) and returns when all are done. Thread: any.
  void Run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  std::size_t helpers_;
  os::Threads pool_;
};

}  // namespace berth::scheduler_server

#endif  // BERTH_KUBERNETES_SCHEDULER_SERVER_SIDE_BY_SIDE_H_
