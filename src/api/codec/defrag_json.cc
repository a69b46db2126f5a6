// Moves of containers, and plans of them.
#include "api/codec/json_parts.h"

namespace berth::codec {
namespace {

MoveRequest ReadRequest(const Reader& reader) {
  return {.uid = reader.Field("uid").String(),
          .container = reader.Field("container").String(),
          .nodes = reader.Field("nodes").Ids<NodeSet>()};
}

Json MovedJson(const MovedContainer& moved) { return {{"from", ToJson(moved.from)}, {"to", ToJson(moved.to)}}; }

Json RoomJson(const Room& room) {
  return {{"pod", {{"uid", room.pod.uid}, {"pod", room.pod.pod}}},
          {"moves", ListJson(room.moves)},
          {"bytes", room.bytes.v},
          {"fewest", room.fewest}};
}

Json NoRoomJson(const NoRoom& none) {
  return {
      {"pod", {{"uid", none.pod.uid}, {"pod", none.pod.pod}}}, {"never", none.never}, {"exhaustive", none.exhaustive}};
}

}  // namespace

Json ToJson(const MoveRequest& request) {
  return {{"uid", request.uid}, {"container", request.container}, {"nodes", FormatIds(request.nodes)}};
}

Json ToJson(const Move& move) {
  Json out = ToJson(move.request);
  out["pod"] = move.pod;
  out["containers"] = ListJson(move.containers, MovedJson);
  out["bytes"] = move.bytes.v;
  return out;
}

Json ToJson(const DefragPlan& plan) {
  return {{"mostMoves", plan.most_moves},
          {"rooms", ListJson(plan.rooms, RoomJson)},
          {"without", ListJson(plan.without, NoRoomJson)}};
}

Result<MoveRequest> MoveRequestFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) { return ReadRequest(reader); });
}

Result<Move> MoveFromJson(const Json& json) {
  return ReadWhole(json, [](const Reader& reader) {
    Move out;
    out.request = ReadRequest(reader);
    out.pod = reader.Field("pod").String();
    for (const Reader& item : reader.Field("containers").Items())
      out.containers.push_back({.from = ReadPlacement(item.Field("from")), .to = ReadPlacement(item.Field("to"))});
    out.bytes = reader.Field("bytes").Size();
    return out;
  });
}

}  // namespace berth::codec
