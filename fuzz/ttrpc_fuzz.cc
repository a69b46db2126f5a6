// Bytes of a peer, to a side of NRI's socket that has calls open and answers those that come: no crash, no more held
// than the limits say, and every call over once the connection is.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "rpc/ttrpc/ttrpc_session.h"

namespace {

namespace t = berth::ttrpc;

constexpr t::Limits kLimits{.message = 4096, .calls = 4};

/// What the user of a session does between two reads of bytes.
void Use(t::Session& session, std::set<std::uint32_t>& calls, bool answers) {
  for (const auto& ended : session.TakeEnded()) BERTH_CHECK(calls.erase(ended.call) == 1);
  for (const auto& incoming : session.TakeRequests()) {
    BERTH_CHECK(incoming.request.payload.size() <= kLimits.message);
    if (answers) session.Answer(incoming.stream, incoming.request.payload);
  }
  BERTH_CHECK(session.open_requests() <= kLimits.calls);
  session.Sent(session.output().size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = std::size_t{1} + data[1] * std::size_t{16};
  const bool answers = (data[0] & 1U) != 0;
  t::Session session({}, kLimits, "fuzz");
  std::set<std::uint32_t> calls;
  for (int i = 0; i < 3; ++i) {
    const auto call = session.Call({.service = "s", .method = "M", .payload = "request"});
    BERTH_CHECK(call);
    calls.insert(*call);
  }
  Use(session, calls, answers);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    if (!session.Receive(bytes.substr(0, piece))) break;
    Use(session, calls, answers);
  }
  session.Break("the end");
  Use(session, calls, answers);
  BERTH_CHECK(calls.empty());
  return 0;
}
