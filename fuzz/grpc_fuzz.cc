// Bytes of a peer, to a client that has calls open and to a server that answers: no crash, no more held than the limits
// say, and every call over once the connection is.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "rpc/grpc/grpc_session.h"

namespace {

namespace w = berth::grpc;

constexpr w::Limits kLimits{.message = 4096, .head_bytes = 2048, .head_fields = 16, .streams = 4, .window = 65'535};

/// What the user of a session does between two reads of bytes.
void Use(w::Session& session, w::Side side, std::vector<w::StreamPtr>& calls) {
  for (w::StreamPtr& stream : session.TakeTouched()) calls.push_back(std::move(stream));
  for (const w::StreamPtr& stream : calls) {
    while (const auto message = session.Take(*stream)) {
      BERTH_CHECK(message->size() <= kLimits.message);
      if (side == w::Side::kServer && !stream->over && !stream->last) session.Write(*stream, *message);
    }
    if (side == w::Side::kServer && stream->peer_done)
      session.Finish(*stream, {w::StatusCode::kNotFound, stream->method});
  }
  session.Produce();
  session.Sent(session.output().size());
}

void Run(w::Side side, std::string_view bytes, std::size_t piece) {
  auto made = w::Session::Make(side, kLimits, "fuzz");
  BERTH_CHECK(made);
  w::Session& session = **made;
  std::vector<w::StreamPtr> calls;
  for (int i = 0; side == w::Side::kClient && i < 3; ++i) {
    auto opened = session.Open("/s/M", std::nullopt);
    BERTH_CHECK(opened);
    session.Write(**opened, "request");
    if (i > 0) session.EndWrites(**opened);
    calls.push_back(*std::move(opened));
  }
  Use(session, side, calls);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    if (!session.Receive(bytes.substr(0, piece))) break;
    Use(session, side, calls);
    if (session.finished()) break;
  }
  session.Break("the end");
  for (const w::StreamPtr& stream : calls) BERTH_CHECK(stream->over);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = std::size_t{1} + data[1] * std::size_t{16};
  if ((data[0] & 1U) == 0) Run(w::Side::kClient, bytes, piece);
  if ((data[0] & 1U) == 1) Run(w::Side::kServer, bytes, piece);
  return 0;
}
