#include "frontend/pod_sources/static_pod.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "api/codec/codec.h"
#include "base/fnv128.h"
#include "base/name_validation.h"
#include "manifest/document_tree.h"
#include "model/resize_changes.h"

namespace berth::pod_sources {
namespace {

/// It has the form of Fnv128's.
bool IsMade(std::string_view uid) {
  return uid.size() == 32 && uid.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string TextOf(const Pod& pod) {
  return codec::ToJson(pod).dump(-1, ' ', false, codec::Json::error_handler_t::replace);
}

std::size_t CostOfJson(const codec::Json& value) {
  std::size_t out = manifest::kNodeCost;
  if (value.is_string()) out += value.get_ref<const std::string&>().size();
  if (value.is_object())
    for (const auto& [key, item] : value.items()) out += key.size() + CostOfJson(item);
  if (value.is_array())
    for (const codec::Json& item : value) out += CostOfJson(item) + (item.is_object() ? manifest::kItemCost : 0);
  return out;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace

void MakeStatic(Pod& pod, std::string_view node_name, std::string_view origin, std::string_view source) {
  const std::string node = Lower(node_name);
  if (pod.uid.empty()) {
    pod.uid = Fnv128(TextOf(pod) + "\nhost:" + node + "\n" + std::string(origin));
  }
  pod.name += "-" + node;
  pod.node_name = node;
  pod.annotations["kubernetes.io/config.hash"] = pod.uid;
  pod.annotations["kubernetes.io/config.source"] = source;
}

std::string NameLengthProblem(const Pod& pod, std::string_view node_name) {
  constexpr std::size_t kLongestPodName = 253;
  constexpr std::size_t kLongestFileName = 255;
  const std::size_t uid = pod.uid.empty() ? Fnv128("").size() : pod.uid.size();
  const std::size_t beside = pod.namespace_.size() + uid + 2;
  const std::size_t in_folder = kLongestFileName - std::min(beside, kLongestFileName);
  const std::size_t on_node = std::min(kLongestPodName, in_folder);
  const std::size_t longest = on_node - std::min(node_name.size() + 1, on_node);
  if (pod.name.size() <= longest) return "";
  return InvalidValue(pod.name, "has " + std::to_string(pod.name.size()) + " bytes, and at most " +
                                    std::to_string(longest) + " fit: on this node the pod is called <name>-" +
                                    Lower(node_name) + ", of at most " + std::to_string(kLongestPodName) +
                                    " bytes, and its log folder <namespace>_<name>-<node>_<uid>" + ", of at most " +
                                    std::to_string(kLongestFileName) + "; give it a shorter name");
}

std::string IdentityOf(const Pod& pod) {
  Pod bare = WithoutAmounts(pod);
  if (IsMade(bare.uid)) bare.uid.clear();
  bare.annotations.erase("kubernetes.io/config.hash");
  return Fnv128(TextOf(bare));
}

std::size_t BytesOf(const Pod& pod) {
  return sizeof(Pod) + (pod.containers.size() + pod.init_containers.size()) * sizeof(Container) +
         CostOfJson(codec::ToJson(pod));
}

std::size_t BytesOf(const ConfigDocument& document) {
  std::size_t out = sizeof(ConfigDocument);
  for (const auto* values : {&document.data, &document.binary})
    for (const auto& [key, value] : *values) out += manifest::kNodeCost + key.size() + value.size();
  return out;
}

}  // namespace berth::pod_sources
