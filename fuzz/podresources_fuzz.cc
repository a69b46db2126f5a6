// Requests to the pod resources API: each is answered with a message that can be read or a status of the API's, and the
// limit is for all.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "podresources.pb.h"
#include "podresources/made_node_test.h"
#include "podresources/service.h"

namespace {

namespace p = berth::podresources;
using berth::wire::Reply;
using berth::wire::StatusCode;

/// Goes on by a tenth of a second with each look.
class Hurrying final : public berth::os::Clock {
 public:
  berth::os::MonoTime Now() const override { return now_ += berth::os::Millis(100); }
  berth::os::WallTime Wall() const override { return {}; }

 private:
  mutable berth::os::MonoTime now_{};
};

template <class Message>
void Check(const Reply& reply) {
  if (reply) {
    Message message;
    BERTH_CHECK(message.ParseFromString(*reply));
  } else {
    BERTH_CHECK(reply.error().code == StatusCode::kInternal || reply.error().code == StatusCode::kUnknown);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto node = std::make_shared<const berth::NodeSnapshot>(p::RandomNode(7).Snapshot());
  static Hurrying clock;
  static p::Calls calls([] { return node; }, true, clock);
  const std::string request(reinterpret_cast<const char*>(data), size);
  Check<v1::ListPodResourcesResponse>(calls.List(request));
  Check<v1::AllocatableResourcesResponse>(calls.Allocatable(request));
  Check<v1::GetPodResourcesResponse>(calls.Get(request));
  Check<v1::ListPodResourcesResponse>(calls.ListAlpha(request));
  return 0;
}
