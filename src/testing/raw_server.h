// A server on the loopback that says exactly what a test wants said, however wrong.
#ifndef BERTH_TESTING_RAW_SERVER_H_
#define BERTH_TESTING_RAW_SERVER_H_

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "os/unique_fd.h"

namespace berth::testkit {

/// Ends with the object, which waits for the talk under way.
class RawServer {
 public:
  /// `talk` has the connection's descriptor, on a thread of the server's; when it returns the connection is closed.
  explicit RawServer(std::function<void(int fd)> talk);
  /// Says `bytes` to everybody who asked something.
  explicit RawServer(std::string bytes);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/page"; }

 private:
  void Serve(const std::function<void(int)>& talk) const;

  os::UniqueFd listener_;
  int port_ = 0;
  std::thread thread_;
};

/// False when the other side has closed.
bool SendAll(int fd, std::string_view bytes);
/// What comes until the other side closes, or has said `until`; at most a minute.
std::string ReceiveAll(int fd, std::string_view until = {});

}  // namespace berth::testkit

#endif  // BERTH_TESTING_RAW_SERVER_H_
