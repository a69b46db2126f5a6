// What nghttp2 calls: what came from the other side, frame by frame, goes to the calls of a Session.
#include <nghttp2/nghttp2.h>

#include <cstdint>

#include "base/text.h"
#include "rpc/grpc/grpc_session.h"

namespace berth::grpc {

struct Session::Callbacks {
  static int OnBeginHeaders(nghttp2_session* http, const nghttp2_frame* frame, void* self);
  static int OnHeader(nghttp2_session* http, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t flags,
                      void* self);
  static int OnData(nghttp2_session* http, std::uint8_t flags, std::int32_t id, const std::uint8_t* data,
                    std::size_t size, void* self);
  static int OnFrame(nghttp2_session* http, const nghttp2_frame* frame, void* self);
  static int OnClose(nghttp2_session* http, std::int32_t id, std::uint32_t code, void* self);
  static int BeforeSend(nghttp2_session* http, const nghttp2_frame* frame, void* self);
  static int OnSent(nghttp2_session* http, const nghttp2_frame* frame, void* self);
  static int OnNotSent(nghttp2_session* http, const nghttp2_frame* frame, int error, void* self);
};

namespace {

bool IsRequest(const nghttp2_frame& frame) {
  return frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST;
}

bool EndsStream(const nghttp2_frame& frame) {
  return (frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA) &&
         (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
}

}  // namespace

void Session::SetCallbacks(nghttp2_session_callbacks* callbacks) {
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Callbacks::OnBeginHeaders);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::OnData);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::OnFrame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::OnClose);
  nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, Callbacks::BeforeSend);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Callbacks::OnSent);
  nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, Callbacks::OnNotSent);
}

int Session::Callbacks::OnBeginHeaders(nghttp2_session* http, const nghttp2_frame* frame, void* self) {
  auto& session = *static_cast<Session*>(self);
  if (session.side_ != Side::kServer || !IsRequest(*frame)) return 0;
  auto event = os::EventFd::Open();
  if (!event) {
    nghttp2_submit_rst_stream(http, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_REFUSED_STREAM);
    return 0;
  }
  const Limits& limits = session.limits_;
  auto stream = std::make_shared<Stream>(limits.received.value_or(limits.message), *std::move(event));
  stream->id = frame->hd.stream_id;
  session.streams_.emplace(stream->id, std::move(stream));
  return 0;
}

int Session::Callbacks::OnHeader(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                                 std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t,
                                 void* self) {
  auto& session = *static_cast<Session*>(self);
  const StreamPtr stream = session.Find(frame->hd.stream_id);
  if (stream == nullptr || stream->over) return 0;
  if (session.side_ == Side::kServer && stream->head_done) return 0;  // trailers of a client mean nothing
  constexpr std::size_t kOverhead = 32;                               // of a field, as HTTP/2 counts
  stream->head_bytes += name_size + value_size + kOverhead;
  ++stream->head_fields;
  if (stream->head_bytes > session.limits_.head_bytes || stream->head_fields > session.limits_.head_fields) {
    session.Reset(*stream, session.ErrorOf(*stream, Code::kUncertain, "its head is too long"));
    return 0;
  }
  session.TakeField(*stream, {reinterpret_cast<const char*>(name), name_size},
                    {reinterpret_cast<const char*>(value), value_size});
  return 0;
}

int Session::Callbacks::OnData(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                               std::size_t size, void* self) {
  static_cast<Session*>(self)->TakeData(id, {reinterpret_cast<const char*>(data), size});
  return 0;
}

int Session::Callbacks::OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* self) {
  auto& session = *static_cast<Session*>(self);
  if (frame->hd.type == NGHTTP2_SETTINGS) session.greeted_ = true;
  if (frame->hd.type == NGHTTP2_GOAWAY) session.peer_leaves_ = true;
  if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0) {
    session.ponged_ = true;
    session.Left();
  }
  const StreamPtr stream = session.Find(frame->hd.stream_id);
  if (stream == nullptr) return 0;
  if (frame->hd.type == NGHTTP2_HEADERS) {
    if (IsRequest(*frame)) stream->method = stream->head.path;
    stream->head_done = true;
  }
  if (EndsStream(*frame)) session.PeerDone(*stream);
  if (session.side_ == Side::kServer) session.touched_.insert(stream);
  return 0;
}

int Session::Callbacks::OnClose(nghttp2_session*, std::int32_t id, std::uint32_t code, void* self) {
  static_cast<Session*>(self)->Closed(id, code);
  return 0;
}

int Session::Callbacks::BeforeSend(nghttp2_session*, const nghttp2_frame* frame, void* self) {
  auto& session = *static_cast<Session*>(self);
  if (!IsRequest(*frame)) return 0;
  if (const StreamPtr stream = session.Find(frame->hd.stream_id)) stream->head_at = session.made_;
  return 0;
}

int Session::Callbacks::OnSent(nghttp2_session* http, const nghttp2_frame* frame, void* self) {
  auto& session = *static_cast<Session*>(self);
  if (session.side_ != Side::kServer || !EndsStream(*frame)) return 0;
  const StreamPtr stream = session.Find(frame->hd.stream_id);
  if (stream != nullptr && !stream->peer_done)  // the call is answered: nothing more has to be said
    nghttp2_submit_rst_stream(http, NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
  return 0;
}

int Session::Callbacks::OnNotSent(nghttp2_session*, const nghttp2_frame* frame, int, void* self) {
  if (IsRequest(*frame)) static_cast<Session*>(self)->Closed(frame->hd.stream_id, NGHTTP2_NO_ERROR);
  return 0;
}

StreamPtr Session::Find(std::int32_t id) const {
  const auto it = streams_.find(id);
  return it == streams_.end() ? nullptr : it->second;
}

void Session::TakeField(Stream& stream, std::string_view name, std::string_view value) {
  Head& head = stream.head;
  if (name == ":method") head.http_method = value;
  if (name == ":path") head.path = value;
  if (name == ":status") head.http_status = value;
  if (name == "content-type") head.content_type = value;
  if (name == "grpc-encoding") head.encoding = value;
  if (name == "grpc-timeout") head.timeout = value;
  if (name == "grpc-status") head.status = ParseDecimal<int>(value);
  if (name == "grpc-message") head.message = DecodePercent(value);
}

/// Each connection's window is opened again at once, so that a call nobody reads does not hold up others; each stream's
/// only as its messages are taken.
void Session::TakeData(std::int32_t id, std::string_view bytes) {
  nghttp2_session_consume_connection(http_.get(), bytes.size());
  const StreamPtr stream = Find(id);
  if (stream == nullptr || stream->over) return;
  const bool of_grpc = side_ == Side::kServer || stream->head.http_status == "200";  // else it is a page for people
  const std::size_t acknowledge = of_grpc ? stream->in.Add(bytes) : bytes.size();
  nghttp2_session_consume_stream(http_.get(), id, acknowledge);
  if (stream->in.front() == MessageBuffer::Front::kNothing) return;
  if (side_ == Side::kServer) touched_.insert(stream);
  stream->event.Signal();
}

}  // namespace berth::grpc
