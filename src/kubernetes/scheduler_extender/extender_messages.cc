#include "kubernetes/scheduler_extender/extender_messages.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "api/codec/codec.h"
#include "api/codec/shallow_json.h"
#include "base/text.h"
#include "manifest/manifest.h"

namespace berth::scheduler_extender {
namespace {

using codec::EachItem;
using codec::EachMember;
using codec::Json;
using codec::StringIn;

/// The fields of a call, as they stand in it; "": not there, or null.
struct CallText {
  std::string_view pod;
  std::string_view nodes;
  std::string_view names;
};

bool IsNamed(std::string_view key, std::string_view name) {
  return std::ranges::equal(key, name, {}, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
}

Result<CallText> ReadFields(std::string_view body) {
  CallText out;
  BERTH_RETURN_IF_ERROR(EachMember(body, [&](std::string_view key, std::string_view value) -> Result<void> {
    const std::string_view given = value == "null" ? std::string_view() : value;
    if (IsNamed(key, "pod")) out.pod = given;
    if (IsNamed(key, "nodes")) out.nodes = given;
    if (IsNamed(key, "nodenames")) out.names = given;
    return {};
  }));
  return out;
}

/// The member of that name; "" when there is none.
Result<std::string_view> MemberOf(std::string_view object, std::string_view name) {
  std::string_view out;
  BERTH_RETURN_IF_ERROR(EachMember(object, [&](std::string_view key, std::string_view value) -> Result<void> {
    if (key == name) out = value;
    return {};
  }));
  return out;
}

Result<Candidate> ReadNodeObject(std::string_view object) {
  BERTH_TRY(const std::string_view metadata, MemberOf(object, "metadata"));
  BERTH_TRY(const std::string_view name, MemberOf(metadata.empty() ? "{}" : metadata, "name"));
  if (name.empty()) return Fail(Code::kInvalid, "a node without metadata.name");
  BERTH_TRY(std::string text, StringIn(name));
  return Candidate{.name = std::move(text), .object = object};
}

/// Takes nodes one by one and refuses too many of them, and any that was there.
class Candidates {
 public:
  explicit Candidates(std::vector<Candidate>& out) : out_(out) {}
  Result<void> Add(Candidate candidate) {
    if (candidate.name.empty()) return Fail(Code::kInvalid, "a node with an empty name");
    if (out_.size() == kMostCandidates)
      return Fail(Code::kInvalid, "more than " + std::to_string(kMostCandidates) + " nodes");
    if (!names_.insert(candidate.name).second) return Fail(Code::kInvalid, "node \"" + candidate.name + "\" twice");
    out_.push_back(std::move(candidate));
    return {};
  }

 private:
  std::vector<Candidate>& out_;
  std::unordered_set<std::string> names_;
};

Result<void> ReadNames(std::string_view names, Call& call) {
  Candidates candidates(call.nodes);
  return EachItem(names, [&](std::string_view item) -> Result<void> {
    BERTH_TRY(std::string name, StringIn(item));
    return candidates.Add({.name = std::move(name), .object = {}});
  });
}

Result<void> ReadNodes(std::string_view nodes, Call& call) {
  BERTH_TRY(const std::string_view items, MemberOf(nodes, "items"));
  if (items.empty() || items == "null") return {};
  Candidates candidates(call.nodes);
  return EachItem(items, [&](std::string_view item) -> Result<void> {
    BERTH_TRY(Candidate node, ReadNodeObject(item));
    return candidates.Add(std::move(node));
  });
}

Result<Pod> ReadCallPod(std::string_view text) {
  if (text.empty()) return Fail(Code::kInvalid, "the field \"Pod\" is missing");
  if (text.size() > kMostPodBytes)
    return Fail(Code::kInvalid, "Pod: more than " + std::to_string(kMostPodBytes) + " bytes");
  BERTH_TRY(Pod pod, manifest::ParsePodJson(text, "Pod"));
  if (pod.uid.empty() || pod.name.empty()) return Fail(Code::kInvalid, "Pod: metadata.name or metadata.uid is missing");
  return pod;
}

std::string Quoted(std::string_view text) { return codec::FormatJson(Json(text)); }

std::string NamesJson(const Call& call, const std::vector<std::size_t>& passed) {
  Json out = Json::array();
  for (const std::size_t i : passed) out.push_back(call.nodes[i].name);
  return codec::FormatJson(out);
}

std::string NodesJson(const Call& call, const std::vector<std::size_t>& passed) {
  std::size_t bytes = 0;
  for (const std::size_t i : passed) bytes += call.nodes[i].object.size() + 1;
  std::string out;
  out.reserve(bytes + 64);
  out = R"({"metadata":{},"items":[)";
  for (const std::size_t i : passed) {
    if (!out.ends_with('[')) out += ',';
    out += call.nodes[i].object;
  }
  return out += "]}";
}

/// {node: reason} of those that are final, or of the others.
std::string ReasonsJson(const std::vector<Refusal>& refused, bool final) {
  Json out = Json::object();
  for (const Refusal& refusal : refused)
    if (refusal.final == final) out[refusal.node] = refusal.reason;
  return codec::FormatJson(out);
}

}  // namespace

Result<Call> ReadCall(std::string_view body) {
  if (body.size() > kMostCallBytes)
    return Fail(Code::kInvalid, "more than " + std::to_string(kMostCallBytes) + " bytes");
  BERTH_TRY(const CallText text, ReadFields(body));
  Call out;
  BERTH_TRY(out.pod, ReadCallPod(text.pod));
  out.names_only = !text.names.empty();
  if (!out.names_only && text.nodes.empty())
    return Fail(Code::kInvalid, "neither the field \"NodeNames\" nor the field \"Nodes\" is there");
  const Result<void> read = out.names_only ? ReadNames(text.names, out) : ReadNodes(text.nodes, out);
  if (!read) return Wrap(read.error(), out.names_only ? "NodeNames" : "Nodes");
  return out;
}

std::string FormatFilterResult(const Call& call, const std::vector<std::size_t>& passed,
                               const std::vector<Refusal>& refused) {
  std::string out = R"({"Nodes":)";
  out += call.names_only ? "null" : NodesJson(call, passed);
  out += R"(,"NodeNames":)";
  out += call.names_only ? NamesJson(call, passed) : "null";
  out += R"(,"FailedNodes":)" + ReasonsJson(refused, false);
  out += R"(,"FailedAndUnresolvableNodes":)" + ReasonsJson(refused, true);
  return out += R"(,"Error":""})";
}

std::string FormatFilterError(std::string_view why) {
  return R"({"Nodes":null,"NodeNames":null,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":)" + Quoted(why) +
         "}";
}

std::string FormatHostPriorities(const Call& call, const std::vector<int>& scores) {
  std::string out = "[";
  for (std::size_t i = 0; i < call.nodes.size(); ++i) {
    if (i > 0) out += ',';
    out += R"({"Host":)" + Quoted(call.nodes[i].name) + R"(,"Score":)" + std::to_string(scores[i]) + "}";
  }
  return out += "]";
}

}  // namespace berth::scheduler_extender
