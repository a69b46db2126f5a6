// A server on the loopback that says exactly what a test wants said, however wrong.
#ifndef BERTH_TESTING_RAW_SERVER_H_
#define BERTH_TESTING_RAW_SERVER_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "host/os/unique_fd.h"

namespace berth::testkit {

struct RawRequest {
  std::string method;
  std::string target;
  std::multimap<std::string, std::string> headers;
};

/// Ends with the object, and with it what is being said.
class RawServer {
 public:
  using Talk = std::function<void(int fd)>;
  /// `talk` has a connection's descriptor, on a thread of its own; when it returns the connection is closed.
  explicit RawServer(Talk talk);
  /// Says `bytes` to everybody who asked something.
  explicit RawServer(std::string bytes);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/page"; }

 private:
  void Serve(const Talk& talk) BERTH_EXCLUDES(mutex_);

  os::UniqueFd listener_;
  int port_ = 0;
  Mutex mutex_;
  std::set<int> open_ BERTH_GUARDED_BY(mutex_);
  std::thread thread_;
};

/// A talk of one request and the answer to it.
RawServer::Talk Answering(std::function<std::string(const RawRequest&)> answer);
/// A whole answer; `headers`: each with its line's end.
std::string HttpText(int status, const std::string& headers, const std::string& body);

/// False when the other side has closed.
bool SendAll(int fd, std::string_view bytes);
/// What comes until the other side closes, or has said `until`; at most a minute.
std::string ReceiveAll(int fd, std::string_view until = {});

}  // namespace berth::testkit

#endif  // BERTH_TESTING_RAW_SERVER_H_
