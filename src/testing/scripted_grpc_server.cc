#include "testing/scripted_grpc_server.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "host/os/unique_fd.h"

namespace berth::testkit {
namespace {

constexpr std::size_t kPrefix = 5;

using Fields = std::vector<std::pair<std::string, std::string>>;

std::vector<nghttp2_nv> ToNv(Fields& fields) {
  std::vector<nghttp2_nv> out;
  for (auto& [name, value] : fields)
    out.push_back({reinterpret_cast<std::uint8_t*>(name.data()), reinterpret_cast<std::uint8_t*>(value.data()),
                   name.size(), value.size(), NGHTTP2_NV_FLAG_NONE});
  return out;
}

/// One connection.
class Peer {
 public:
  Peer(int fd, const std::function<GrpcAnswer(const GrpcRequest&)>& answer) : fd_(fd), answer_(answer) {}

  void Serve() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnData);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, OnFrame);
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
    std::array<std::uint8_t, 16384> buffer{};
    while (Send()) {
      const ssize_t n = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (n <= 0) break;
      if (nghttp2_session_mem_recv(session_, buffer.data(), static_cast<std::size_t>(n)) < 0) break;
    }
    nghttp2_session_del(session_);
  }

 private:
  struct Stream {
    GrpcRequest request;
    GrpcAnswer answer;
    std::size_t sent = 0;
  };

  /// False: the connection is over.
  bool Send() {
    for (;;) {
      const std::uint8_t* bytes = nullptr;
      ssize_t left = nghttp2_session_mem_send(session_, &bytes);
      if (left <= 0) return left == 0 && !(cut_ && nghttp2_session_want_write(session_) == 0);
      while (left > 0) {
        const ssize_t n = ::send(fd_, bytes, static_cast<std::size_t>(left), MSG_NOSIGNAL);
        if (n <= 0) return false;
        bytes += n;
        left -= n;
      }
    }
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                      const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* self) {
    GrpcRequest& request = static_cast<Peer*>(self)->streams_[frame->hd.stream_id].request;
    const std::string_view key(reinterpret_cast<const char*>(name), name_size);
    const std::string text(reinterpret_cast<const char*>(value), value_size);
    if (key == ":path") request.method = text;
    if (key == "grpc-timeout") request.timeout = text;
    return 0;
  }

  static int OnData(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size,
                    void* self) {
    static_cast<Peer*>(self)->streams_[id].request.message.append(reinterpret_cast<const char*>(data), size);
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && frame->hd.stream_id != 0)
      static_cast<Peer*>(self)->Answer(frame->hd.stream_id);
    return 0;
  }

  static ssize_t ReadBody(nghttp2_session*, std::int32_t id, std::uint8_t* out, std::size_t room, std::uint32_t* flags,
                          nghttp2_data_source*, void* self) {
    auto& peer = *static_cast<Peer*>(self);
    Stream& stream = peer.streams_[id];
    const std::size_t n = std::min(room, stream.answer.body.size() - stream.sent);
    std::memcpy(out, stream.answer.body.data() + stream.sent, n);
    stream.sent += n;
    if (stream.sent == stream.answer.body.size()) peer.EndOf(id, stream.answer, flags);
    return static_cast<ssize_t>(n);
  }

  void EndOf(std::int32_t id, const GrpcAnswer& answer, std::uint32_t* flags) {
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (answer.end == GrpcAnswer::End::kNothing) return;
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    if (answer.end == GrpcAnswer::End::kCut) cut_ = true;
    if (answer.end == GrpcAnswer::End::kReset)
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_INTERNAL_ERROR);
    if (answer.end != GrpcAnswer::End::kTrailers) return;
    Fields fields;
    if (!answer.status.empty()) fields.emplace_back("grpc-status", answer.status);
    if (!answer.message.empty()) fields.emplace_back("grpc-message", answer.message);
    const std::vector<nghttp2_nv> nv = ToNv(fields);
    nghttp2_submit_trailer(session_, id, nv.data(), nv.size());
  }

  void Answer(std::int32_t id) {
    Stream& stream = streams_[id];
    stream.request.message.erase(0, std::min(kPrefix, stream.request.message.size()));
    stream.answer = answer_(stream.request);
    if (stream.answer.end == GrpcAnswer::End::kSilence) return;
    if (stream.answer.end == GrpcAnswer::End::kRefused) {
      nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
      return;
    }
    if (stream.answer.leaving) nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR, nullptr, 0);
    Fields fields = {{":status", stream.answer.http_status}, {"content-type", "application/grpc"}};
    const std::vector<nghttp2_nv> nv = ToNv(fields);
    nghttp2_data_provider body{};
    body.read_callback = ReadBody;
    nghttp2_submit_response(session_, id, nv.data(), nv.size(), &body);
  }

  int fd_;
  const std::function<GrpcAnswer(const GrpcRequest&)>& answer_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Stream> streams_;
  bool cut_ = false;
};

}  // namespace

std::string GrpcFrame(std::string_view message) {
  std::string out(1, '\0');
  const auto size = static_cast<std::uint32_t>(message.size());
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>((size >> shift) & 0xFFU);
  return out.append(message);
}

class GrpcServer::Impl {
 public:
  Impl(const std::string& path, std::function<GrpcAnswer(const GrpcRequest&)> answer)
      : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
    EXPECT_EQ(0, ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address)) << path;
    EXPECT_EQ(0, ::listen(listener_.get(), 64));
    accepting_ = std::thread([this] { Accept(); });
  }
  ~Impl() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    accepting_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const os::UniqueFd& fd : peers_) ::shutdown(fd.get(), SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Accept() {
    for (;;) {
      os::UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer.valid()) return;
      const int fd = peer.get();
      const std::lock_guard lock(mutex_);
      peers_.push_back(std::move(peer));
      threads_.emplace_back([this, fd] {
        Peer(fd, answer_).Serve();
        ::shutdown(fd, SHUT_RDWR);
      });
    }
  }

  os::UniqueFd listener_;
  std::function<GrpcAnswer(const GrpcRequest&)> answer_;
  std::mutex mutex_;
  std::vector<os::UniqueFd> peers_;
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

GrpcServer::GrpcServer(const std::string& path, std::function<GrpcAnswer(const GrpcRequest&)> answer)
    : impl_(std::make_unique<Impl>(path, std::move(answer))) {}
GrpcServer::~GrpcServer() = default;

}  // namespace berth::testkit
