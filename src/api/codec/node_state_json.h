// A node's published state as the custom resource NodeState: docs/formats/node-state.md.
#ifndef BERTH_API_CODEC_NODE_STATE_JSON_H_
#define BERTH_API_CODEC_NODE_STATE_JSON_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "api/codec/codec.h"
#include "base/result.h"
#include "model/node_state.h"

namespace berth::codec {

inline constexpr int kNodeStateFormat = 1;
/// Bytes of a state's text. etcd takes 1.5 MiB, and the API server adds its own.
inline constexpr std::size_t kMostOfNodeState = std::size_t{1} << 20;
/// Values in it, counted before any are made.
inline constexpr std::size_t kMostNodeStateValues = 100'000;

/// The whole object. Requires: Compact made the state.
Json ToJson(const NodeState& state);

/// As one line. Errors: kInvalid when it is larger than a reader takes.
Result<std::string> FormatNodeState(const NodeState& state);
/// The same of an object that ToJson made.
Result<std::string> FormatNodeState(const Json& object);

/// Reads an object that anybody may have written; what was read passes CheckNodeState and is as Compact leaves it.
/// Fields the server adds, and unknown ones, are ignored. Errors: kInvalid with the field; kUnsupported when a newer
/// program wrote it.
Result<NodeState> ReadNodeState(std::string_view text);

}  // namespace berth::codec

#endif  // BERTH_API_CODEC_NODE_STATE_JSON_H_
