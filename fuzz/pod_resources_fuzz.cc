// Requests to the pod resources API of one of 16 nodes: each is answered with a message that can be read, of what that
// node has, or a status of the API's.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kubernetes/pod_resources/made_node_test.h"
#include "kubernetes/pod_resources/pod_resources_service.h"
#include "podresources.pb.h"

namespace {

namespace p = berth::pod_resources;
using berth::grpc::Reply;
using berth::grpc::StatusCode;

/// Goes on by a tenth of a second with each look.
class Hurrying final : public berth::os::Clock {
 public:
  berth::os::MonoTime Now() const override { return now_ += berth::os::Millis(100); }
  berth::os::WallTime Wall() const override { return {}; }

 private:
  mutable berth::os::MonoTime now_{};
};

using Nodes = std::array<std::shared_ptr<const berth::NodeSnapshot>, 16>;

/// From 1 to 11 pods in each.
const Nodes& MadeNodes() {
  static const Nodes nodes = [] {
    Nodes out;
    std::uint64_t seed = 0;
    for (auto& node : out) do
        node = std::make_shared<const berth::NodeSnapshot>(p::RandomNode(++seed).Snapshot());
      while (node->pods.empty());
    return out;
  }();
  return nodes;
}

/// What it answers, if that is no status.
template <class Message>
std::optional<Message> Check(const Reply& reply) {
  if (!reply) {
    BERTH_CHECK(reply.error().code == StatusCode::kInternal || reply.error().code == StatusCode::kUnknown);
    return std::nullopt;
  }
  Message message;
  BERTH_CHECK(message.ParseFromString(*reply));
  return message;
}

void CheckAll(const Reply& reply, const berth::NodeSnapshot& node) {
  if (const auto all = Check<v1::ListPodResourcesResponse>(reply))
    BERTH_CHECK(static_cast<std::size_t>(all->pod_resources_size()) <= node.pods.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static std::shared_ptr<const berth::NodeSnapshot> node;
  static Hurrying clock;
  static p::Calls calls([] { return node; }, true, clock);
  node = MadeNodes()[data[0] % MadeNodes().size()];
  const std::string request(reinterpret_cast<const char*>(data) + 1, size - 1);
  CheckAll(calls.List(request), *node);
  CheckAll(calls.ListAlpha(request), *node);
  Check<v1::AllocatableResourcesResponse>(calls.Allocatable(request));
  if (const auto one = Check<v1::GetPodResourcesResponse>(calls.Get(request))) {
    v1::GetPodResourcesRequest asked;
    BERTH_CHECK(asked.ParseFromString(request));
    BERTH_CHECK(one->pod_resources().name() == asked.pod_name());
    BERTH_CHECK(one->pod_resources().namespace_() == asked.pod_namespace());
  }
  return 0;
}
