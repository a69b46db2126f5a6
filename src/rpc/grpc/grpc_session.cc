#include "rpc/grpc/grpc_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace berth::grpc {
namespace {

constexpr std::size_t kMadeAtOnce = std::size_t{64} << 10;
constexpr std::int32_t kConnectionWindow = 1 << 20;

using Fields = std::vector<std::pair<std::string, std::string>>;

std::vector<nghttp2_nv> ToNv(Fields& fields) {
  std::vector<nghttp2_nv> out;
  for (auto& [name, value] : fields)
    out.push_back({.name = reinterpret_cast<std::uint8_t*>(name.data()),
                   .value = reinterpret_cast<std::uint8_t*>(value.data()),
                   .namelen = name.size(),
                   .valuelen = value.size(),
                   .flags = NGHTTP2_NV_FLAG_NONE});
  return out;
}

void AddStatus(const Status& status, Fields& fields) {
  fields.emplace_back("grpc-status", std::to_string(static_cast<int>(status.code)));
  if (!status.message.empty()) fields.emplace_back("grpc-message", EncodePercent(status.message));
}

/// What an answer of HTTP that is none of gRPC's means, as gRPC says.
StatusCode CodeOfHttp(std::string_view status) {
  if (status == "400") return StatusCode::kInternal;
  if (status == "401") return StatusCode::kUnauthenticated;
  if (status == "403") return StatusCode::kPermissionDenied;
  if (status == "404") return StatusCode::kUnimplemented;
  if (status == "429" || status == "502" || status == "503" || status == "504") return StatusCode::kUnavailable;
  return StatusCode::kUnknown;
}

}  // namespace

void Session::Deleter::operator()(nghttp2_session* session) const { nghttp2_session_del(session); }

Result<std::unique_ptr<Session>> Session::Make(Side side, const Limits& limits, std::string peer) {
  std::unique_ptr<Session> out(new Session(side, limits, std::move(peer)));
  BERTH_RETURN_IF_ERROR(out->Start());
  return out;
}

Result<void> Session::Start() {
  const auto failed = [] { return Fail(Code::kExhausted, "no memory for a connection"); };
  nghttp2_option* made_option = nullptr;
  if (nghttp2_option_new(&made_option) != 0) return failed();
  const std::unique_ptr<nghttp2_option, void (*)(nghttp2_option*)> option(made_option, nghttp2_option_del);
  nghttp2_option_set_no_auto_window_update(option.get(), 1);
  // Programs of Go's gRPC up to 2023 name the socket's path as :authority, which is none: nghttp2 would end their
  // calls. Of a request's fields Server::LookAt sees to those that matter.
  if (side_ == Side::kServer) nghttp2_option_set_no_http_messaging(option.get(), 1);
  nghttp2_session_callbacks* made = nullptr;
  if (nghttp2_session_callbacks_new(&made) != 0) return failed();
  const std::unique_ptr<nghttp2_session_callbacks, void (*)(nghttp2_session_callbacks*)> callbacks(
      made, nghttp2_session_callbacks_del);
  SetCallbacks(made);
  nghttp2_session* session = nullptr;
  const int opened = side_ == Side::kClient ? nghttp2_session_client_new2(&session, made, this, option.get())
                                            : nghttp2_session_server_new2(&session, made, this, option.get());
  if (opened != 0) return failed();
  http_.reset(session);
  std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits_.head_bytes)}};
  if (side_ == Side::kClient) settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  if (side_ == Side::kServer) settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams});
  const bool set = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0 &&
                   nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindow) == 0;
  if (!set) return failed();
  return {};
}

// ---- bytes ----

Result<void> Session::Receive(std::string_view bytes) {
  const ssize_t taken =
      nghttp2_session_mem_recv(http_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (taken >= 0) return {};
  broken_ = true;
  return Fail(Code::kUncertain, std::string("the other side does not speak HTTP/2 as it should: ") +
                                    nghttp2_strerror(static_cast<int>(taken)));
}

void Session::Produce() {
  if (out_sent_ == out_.size()) {
    out_.clear();
    out_sent_ = 0;
  }
  while (!broken_ && out_.size() - out_sent_ < kMadeAtOnce) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t n = nghttp2_session_mem_send(http_.get(), &bytes);
    if (n < 0) broken_ = true;
    if (n <= 0) return;
    out_.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
    made_ += static_cast<std::uint64_t>(n);
  }
}

void Session::Sent(std::size_t bytes) {
  out_sent_ += bytes;
  sent_ += bytes;
}

bool Session::finished() const {
  if (broken_) return true;
  return output().empty() && nghttp2_session_want_read(http_.get()) == 0 &&
         nghttp2_session_want_write(http_.get()) == 0;
}

// ---- calls ----

bool Session::accepts() const {
  return !broken_ && !peer_leaves_ && nghttp2_session_check_request_allowed(http_.get()) != 0;
}

Result<StreamPtr> Session::Open(const std::string& method, std::optional<os::Millis> timeout) {
  auto event = os::EventFd::Open();
  if (!event) return Fail(Code::kUnreachable, "call " + method + " at " + peer_ + ": " + event.error().message);
  auto stream = std::make_shared<Stream>(limits_.received.value_or(limits_.message), *std::move(event));
  stream->method = method;
  Fields fields = {{":method", "POST"},         {":scheme", "http"}, {":path", method},
                   {":authority", "localhost"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
  if (timeout) fields.emplace_back("grpc-timeout", FormatTimeout(*timeout));
  const std::vector<nghttp2_nv> head = ToNv(fields);
  nghttp2_data_provider body{};
  body.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* into, std::size_t room, std::uint32_t* flags,
                          nghttp2_data_source*,
                          void* self) { return static_cast<Session*>(self)->ReadBody(id, into, room, flags); };
  stream->id = nghttp2_submit_request(http_.get(), nullptr, head.data(), head.size(), &body, nullptr);
  if (stream->id < 0) return std::unexpected(ErrorOf(*stream, Code::kUnreachable, nghttp2_strerror(stream->id)));
  streams_.emplace(stream->id, stream);
  return stream;
}

void Session::Resume(Stream& stream) { nghttp2_session_resume_data(http_.get(), stream.id); }

void Session::Write(Stream& stream, std::string_view message) {
  if (side_ == Side::kServer && !stream.responded) SubmitHead(stream, true);
  stream.out += Framed(message);
  Resume(stream);
}

void Session::EndWrites(Stream& stream) {
  if (stream.over || stream.last) return;
  stream.last = true;
  Resume(stream);
}

void Session::Finish(Stream& stream, Status status) {
  if (stream.over || stream.last) return;
  stream.last = true;
  stream.trailers = std::move(status);
  if (stream.responded) return Resume(stream);
  SubmitHead(stream, false);
}

/// Without a body the head has the status, and ends the call.
void Session::SubmitHead(Stream& stream, bool with_body) {
  stream.responded = true;
  Fields fields = {{":status", "200"}, {"content-type", "application/grpc"}};
  if (!with_body) AddStatus(stream.trailers, fields);
  const std::vector<nghttp2_nv> head = ToNv(fields);
  nghttp2_data_provider body{};
  body.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t* into, std::size_t room, std::uint32_t* flags,
                          nghttp2_data_source*,
                          void* self) { return static_cast<Session*>(self)->ReadBody(id, into, room, flags); };
  nghttp2_submit_response(http_.get(), stream.id, head.data(), head.size(), with_body ? &body : nullptr);
}

ssize_t Session::ReadBody(std::int32_t id, std::uint8_t* into, std::size_t room, std::uint32_t* flags) {
  const StreamPtr stream = Find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const std::size_t n = std::min(room, stream->unsent());
  if (n == 0 && !stream->last) return NGHTTP2_ERR_DEFERRED;
  std::memcpy(into, stream->out.data() + stream->out_sent, n);
  stream->out_sent += n;
  if (stream->unsent() == 0) {
    stream->out.clear();
    stream->out_sent = 0;
    if (stream->writable) stream->writable->Signal();
  }
  if (stream->unsent() > 0 || !stream->last) return static_cast<ssize_t>(n);
  *flags |= NGHTTP2_DATA_FLAG_EOF;
  if (side_ == Side::kClient) return static_cast<ssize_t>(n);
  *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
  Fields fields;
  AddStatus(stream->trailers, fields);
  const std::vector<nghttp2_nv> trailers = ToNv(fields);
  nghttp2_submit_trailer(http_.get(), id, trailers.data(), trailers.size());
  return static_cast<ssize_t>(n);
}

std::optional<std::string> Session::Take(Stream& stream) {
  if (stream.in.front() != MessageBuffer::Front::kMessage) return std::nullopt;
  std::size_t acknowledge = 0;
  std::string out = stream.in.Take(acknowledge);
  if (!stream.over) nghttp2_session_consume_stream(http_.get(), stream.id, acknowledge);
  return out;
}

void Session::Refuse(Stream& stream) {
  nghttp2_submit_rst_stream(http_.get(), NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_REFUSED_STREAM);
  End(stream, std::unexpected(ErrorOf(stream, Code::kOverloaded, "refused")));
}

void Session::Reset(Stream& stream, Error why) {
  if (stream.over) return;
  nghttp2_submit_rst_stream(http_.get(), NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_CANCEL);
  End(stream, std::unexpected(std::move(why)));
}

void Session::Expire(Stream& stream) {
  if (stream.over) return;
  const Error late = ErrorOf(stream, Code::kTimeout, "the deadline of the caller passed");
  if (stream.unsent() > 0) return Reset(stream, late);
  Finish(stream, {StatusCode::kDeadlineExceeded, "the deadline passed"});
  End(stream, std::unexpected(late));
}

void Session::Break(const std::string& why) {
  broken_ = true;
  for (const auto& [id, stream] : std::exchange(streams_, {}))
    End(*stream, std::unexpected(NotAnswered(*stream, Code::kUncertain, why)));
}

void Session::Leave() {
  leaving_ = true;
  nghttp2_submit_shutdown_notice(http_.get());
  Ping();
}

/// The answer to Leave's PING: what is under way from the other side has arrived, and no more will be.
void Session::Left() {
  if (!std::exchange(leaving_, false)) return;
  nghttp2_submit_goaway(http_.get(), NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(http_.get()),
                        NGHTTP2_NO_ERROR, nullptr, 0);
}

void Session::Ping() { nghttp2_submit_ping(http_.get(), NGHTTP2_FLAG_NONE, nullptr); }

// ---- how calls end ----

Error Session::ErrorOf(const Stream& stream, Code code, const std::string& why) const {
  return {.code = code, .sys = 0, .message = "call " + Printable(stream.method) + " at " + peer_ + ": " + why};
}

Error Session::NotAnswered(const Stream& stream, Code code, const std::string& why) const {
  if (side_ == Side::kClient && !MayBeSeen(stream))
    return ErrorOf(stream, Code::kUnreachable, why + "; nothing was sent");
  return ErrorOf(stream, code, why);
}

void Session::End(Stream& stream, Result<void> outcome) {
  if (stream.over) return;
  stream.over = true;
  stream.outcome = std::move(outcome);
  stream.out = {};
  stream.out_sent = 0;
  stream.event.Signal();
  if (stream.writable) stream.writable->Signal();
  if (stream.gone) stream.gone->Signal();
}

/// How a call ended whose server has said all.
Result<void> Session::Judge(const Stream& stream) const {
  const Head& head = stream.head;
  if (!head.status && !head.http_status.empty() && head.http_status != "200")
    return std::unexpected(
        ErrorOf(stream, CodeOf(CodeOfHttp(head.http_status)), "HTTP status " + Printable(head.http_status, 10)));
  if (!head.status) return std::unexpected(ErrorOf(stream, Code::kUncertain, "the answer ended without a status"));
  const StatusCode code = StatusCodeOf(*head.status);
  if (code != StatusCode::kOk)
    return Fail(CodeOf(code), head.message.empty() ? "status " + std::to_string(*head.status) : head.message);
  return {};
}

void Session::PeerDone(Stream& stream) {
  stream.peer_done = true;
  if (side_ == Side::kServer) return stream.event.Signal();
  if (!stream.over &&
      (!stream.last || stream.unsent() > 0))  // it has its answer already: what was still to be said interests nobody
    nghttp2_submit_rst_stream(http_.get(), NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_CANCEL);
  End(stream, Judge(stream));
}

void Session::Closed(std::int32_t id, std::uint32_t code) {
  const StreamPtr stream = Find(id);
  if (stream == nullptr) return;
  streams_.erase(id);
  if (code == NGHTTP2_REFUSED_STREAM) {
    const bool leaves = peer_leaves_;
    End(*stream, std::unexpected(ErrorOf(*stream, leaves ? Code::kUnreachable : Code::kOverloaded,
                                         leaves ? "the other side is leaving and did not look at it"
                                                : "refused: too many calls at a time")));
    return;
  }
  End(*stream, std::unexpected(NotAnswered(*stream, Code::kUncertain,
                                           std::string("ended without an answer: ") + nghttp2_http2_strerror(code))));
}

std::vector<StreamPtr> Session::TakeTouched() {
  const std::set<StreamPtr> touched = std::exchange(touched_, {});
  return {touched.begin(), touched.end()};
}

}  // namespace berth::grpc
