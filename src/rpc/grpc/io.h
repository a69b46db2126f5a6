// The one thread that reads and writes the connections of a client or a server. For components that carry calls.
#ifndef BERTH_RPC_GRPC_IO_H_
#define BERTH_RPC_GRPC_IO_H_

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/event_fd.h"

namespace berth::grpc {

/// Something with a descriptor.
class Watched {
 public:
  struct Wants {
    short events = 0;                  ///< of poll(2)
    std::optional<os::MonoTime> at{};  ///< when to be asked at the latest
  };
  virtual ~Watched() = default;
  virtual int fd() const = 0;
  virtual Wants Prepare(os::MonoTime now) = 0;
  /// `happened`: as revents; 0: the time has come, or nothing. False: it is not to be watched any more.
  virtual bool Serve(short happened, os::MonoTime now) = 0;
};

/// Makes the thread ask everything what it wants. May outlive the Io. Thread: any.
using Wake = std::shared_ptr<const os::EventFd>;

/// Thread: any.
class Io {
 public:
  /// Errors: as eventfd(2), and kExhausted without another thread.
  static Result<std::unique_ptr<Io>> Start();
  ~Io() { End(); }
  Io(const Io&) = delete;
  Io& operator=(const Io&) = delete;

  void Add(std::shared_ptr<Watched> watched) BERTH_EXCLUDES(mutex_);
  /// Ends the thread, which drops all it has watched; what is added from now on is dropped with this. For owners whom
  /// the thread may ask for this Io until then. May be called again. Thread: one at a time, and not the Io's.
  void End() BERTH_EXCLUDES(mutex_);
  const Wake& wake() const { return wake_; }

 private:
  explicit Io(os::EventFd wake) : wake_(std::make_shared<const os::EventFd>(std::move(wake))) {}
  void Run();
  bool TakeNew(std::vector<std::shared_ptr<Watched>>& all) BERTH_EXCLUDES(mutex_);

  const Wake wake_;
  Mutex mutex_;
  std::vector<std::shared_ptr<Watched>> added_ BERTH_GUARDED_BY(mutex_);
  bool stop_ BERTH_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace berth::grpc

#endif  // BERTH_RPC_GRPC_IO_H_
