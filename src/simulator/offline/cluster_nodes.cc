#include "simulator/offline/cluster_nodes.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace berth::offline {
namespace {

constexpr std::size_t kMostNodes = 1'000'000;

/// Takes ",NAME=VALUE" off the end of `word`, if it is there.
std::optional<std::string> TakeOption(std::string& word, std::string_view name) {
  const std::size_t at = word.find("," + std::string(name) + "=");
  if (at == std::string::npos) return std::nullopt;
  const std::size_t start = at + name.size() + 2;
  const std::size_t end = std::min(word.find(',', start), word.size());
  std::string out = word.substr(start, end - start);
  word.erase(at, end - at);
  return out;
}

Result<NodeGroup> ReadGroup(const std::string& given, const OfflineOptions& usual, std::ostream& err) {
  OfflineOptions options = usual;
  std::string word = given;
  if (auto config = TakeOption(word, "config")) options.config = *std::move(config);
  if (auto devices = TakeOption(word, "devices")) options.devices = *std::move(devices);
  const std::size_t equals = word.find('=');
  if (equals != std::string::npos) options.machine = word.substr(equals + 1);
  const auto count = ParseDecimal<std::size_t>(std::string_view(word).substr(0, equals));
  if (!count || *count == 0 || *count > kMostNodes)
    return Fail(Code::kInvalid, "--cluster " + Printable(given) +
                                    ": give COUNT[=MACHINE][,config=FILE][,devices=FILE], with 1 to " +
                                    std::to_string(kMostNodes) + " nodes");
  BERTH_TRY(OfflineNode node, LoadOfflineNode(options, err));
  return NodeGroup{.count = *count,
                   .description = {.machine = node.node.machine(),
                                   .config = node.node.config(),
                                   .options = node.node.options(),
                                   .devices = std::move(node.inputs.devices)}};
}

}  // namespace

Result<std::vector<NodeGroup>> ReadNodeGroups(const std::vector<std::string>& words, const OfflineOptions& usual,
                                              std::ostream& err) {
  std::vector<NodeGroup> out;
  std::size_t nodes = 0;
  for (const std::string& word : words) {
    BERTH_TRY(NodeGroup group, ReadGroup(word, usual, err));
    nodes += group.count;
    out.push_back(std::move(group));
  }
  if (nodes > kMostNodes) return Fail(Code::kInvalid, "more than " + std::to_string(kMostNodes) + " nodes");
  return out;
}

}  // namespace berth::offline
