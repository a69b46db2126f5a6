// Any bytes are a node's published state or an error; a state comes back from its text, and an engine is made of it or
// refuses it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "allocator/engine.h"
#include "api/codec/node_state_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const auto state = codec::ReadNodeState({reinterpret_cast<const char*>(data), size});
  if (!state) {
    BERTH_CHECK(!state.error().message.empty());
    return 0;
  }
  // Larger than what was read when it was short of spaces; then there is no text.
  if (const auto text = codec::FormatNodeState(*state)) {
    const auto again = codec::ReadNodeState(*text);
    BERTH_CHECK(again && *again == *state);
  }
  const allocator::EngineOptions options{.kubelet_version = state->kubelet_version,
                                         .node_fit = state->node_fit,
                                         .whole_cores = state->whole_cores,
                                         .close_devices = state->close_devices,
                                         .judge_by_free_memory = state->judge_by_free_memory,
                                         .memory_groups_overlap = state->memory_groups_overlap,
                                         .pod_falls_back = state->pod_falls_back,
                                         .keep_rest_aligned = state->keep_rest_aligned,
                                         .look_ahead = state->look_ahead,
                                         .own = state->own};
  if (const auto node = allocator::Node::Make(state->machine, state->config, options))
    static_cast<void>(allocator::CheckDevices(*node, state->devices));
  return 0;
}
