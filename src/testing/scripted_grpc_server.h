// A gRPC server on a unix socket that answers as a test says, well or badly. A tool for faults: what a real container
// runtime does is shown with a real one.
#ifndef BERTH_TESTING_SCRIPTED_GRPC_SERVER_H_
#define BERTH_TESTING_SCRIPTED_GRPC_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace berth::testkit {

struct GrpcRequest {
  std::string method;   ///< ":path"
  std::string message;  ///< without its five bytes
  std::string timeout;  ///< grpc-timeout; "": none
};

struct GrpcAnswer {
  enum class End {
    kTrailers,  ///< status and message follow the body
    kNothing,   ///< the stream ends without trailers
    kReset,     ///< the stream is reset after the body
    kRefused,   ///< the server says with GOAWAY that it did not look at the stream
    kCut,       ///< the connection is closed after the body
    kSilence,   ///< nothing is sent at all
  };
  std::string body;  ///< sent as it is; GrpcFrame makes it from messages
  std::string status = "0";
  std::string message;  ///< grpc-message as it is; "": none
  std::string http_status = "200";
  bool leaving = false;  ///< GOAWAY before the answer, which still comes
  End end = End::kTrailers;
};

/// A message with its five bytes.
std::string GrpcFrame(std::string_view message);

class GrpcServer {
 public:
  /// `answer` is called on threads of the server.
  GrpcServer(const std::string& path, std::function<GrpcAnswer(const GrpcRequest&)> answer);
  /// Closes all connections.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTING_SCRIPTED_GRPC_SERVER_H_
