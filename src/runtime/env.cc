#include "runtime/env.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace berth::runtime {
namespace {

const std::string* FindVariable(const Environment& env, std::string_view name) {
  const auto it = std::ranges::find(env, name, &Environment::value_type::first);
  return it == env.end() ? nullptr : &it->second;
}

std::string Expand(std::string_view text, const Environment& env) {
  return ExpandReferences(text, [&env](std::string_view name) -> std::optional<std::string> {
    const std::string* value = FindVariable(env, name);
    if (value == nullptr) return std::nullopt;
    return *value;
  });
}

// The key of "metadata.labels['key']" for `map` "metadata.labels".
std::optional<std::string_view> Subscript(std::string_view path, std::string_view map) {
  if (!path.starts_with(map)) return std::nullopt;
  path.remove_prefix(map.size());
  if (path.size() < 5 || !path.starts_with("['") || !path.ends_with("']")) return std::nullopt;
  return path.substr(2, path.size() - 4);
}

std::string ValueOrEmpty(const std::map<std::string, std::string>& map, std::string_view key) {
  const auto it = map.find(std::string(key));
  return it == map.end() ? std::string() : it->second;
}

}  // namespace

std::string ExpandReferences(std::string_view text,
                             const std::function<std::optional<std::string>(std::string_view)>& lookup) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t dollar = text.find('$', at);
    out += text.substr(at, dollar - at);
    if (dollar == std::string_view::npos) break;
    const std::string_view rest = text.substr(dollar + 1);
    const std::size_t close = rest.starts_with('(') ? rest.find(')') : std::string_view::npos;
    if (close != std::string_view::npos) {
      const std::string_view name = rest.substr(1, close - 1);
      const std::optional<std::string> value = lookup(name);
      out += value ? *value : "$(" + std::string(name) + ")";
      at = dollar + 1 + close + 1;
    } else if (rest.starts_with('$')) {
      out += '$';
      at = dollar + 2;
    } else {  // "$x", "$(" without an end, or the last character: as written
      out += text.substr(dollar, 2);
      at = dollar + 2;
    }
  }
  return out;
}

Result<std::string> FieldValue(const Pod& pod, std::string_view path, const NodeFacts& node) {
  if (path == "metadata.name") return pod.name;
  if (path == "metadata.namespace") return pod.namespace_;
  if (path == "metadata.uid") return pod.uid;
  if (path == "spec.nodeName") return node.node_name;
  if (path == "status.hostIP" || path == "status.hostIPs") return node.host_ip;
  if (path == "status.podIP" || path == "status.podIPs") return node.pod_ip;
  if (const auto key = Subscript(path, "metadata.labels")) return ValueOrEmpty(pod.labels, *key);
  if (const auto key = Subscript(path, "metadata.annotations")) return ValueOrEmpty(pod.annotations, *key);
  return Fail(Code::kInvalid, "fieldPath \"" + Printable(path) +
                                  "\" is not supported: use metadata.name, metadata.namespace, metadata.uid, "
                                  "metadata.labels['KEY'], metadata.annotations['KEY'], spec.nodeName, status.hostIP "
                                  "or status.podIP");
}

Result<Environment> ResolveEnv(const Pod& pod, const Container& container, const NodeFacts& node) {
  Environment env;
  for (const EnvVar& variable : container.env) {
    std::string value = Expand(variable.value, env);
    if (!variable.field_path.empty()) {
      Result<std::string> field = FieldValue(pod, variable.field_path, node);
      if (!field) return Wrap(std::move(field).error(), "container " + container.name + ", env " + variable.name);
      value = *std::move(field);
    }
    const auto it = std::ranges::find(env, variable.name, &Environment::value_type::first);
    if (it == env.end()) {
      env.emplace_back(variable.name, std::move(value));
    } else {
      it->second = std::move(value);
    }
  }
  return env;
}

Container ExpandCommand(Container container, const Environment& env) {
  for (std::string& word : container.command) word = Expand(word, env);
  for (std::string& word : container.args) word = Expand(word, env);
  return container;
}

}  // namespace berth::runtime
