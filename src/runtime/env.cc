#include "runtime/env.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace berth::runtime {
namespace {

/// Variables in their order, found by name.
class Variables {
 public:
  const std::string* Find(std::string_view name) const {
    const auto it = places_.find(name);
    return it == places_.end() ? nullptr : &list_[it->second].second;
  }
  void Set(const std::string& name, std::string value) {
    const auto [it, added] = places_.try_emplace(name, list_.size());
    if (added)
      list_.emplace_back(name, std::move(value));
    else
      list_[it->second].second = std::move(value);
  }
  Environment Take() && { return std::move(list_); }

 private:
  Environment list_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

/// Counts what a program is given, as execve does: each word with its end and a pointer to it.
class WordCount {
 public:
  Result<void> Add(std::size_t size) {
    if (size > kLongestWord) return Fail(Code::kInvalid, TooLong());
    total_ += size + 1 + sizeof(char*);
    if (total_ <= kMostWords) return {};
    return Fail(Code::kInvalid,
                "variables and arguments are longer than the 6 MiB that Linux gives to a program; put "
                "them into a file");
  }
  static std::string TooLong() {
    return "longer than the " + std::to_string(kLongestWord) +
           " bytes that Linux gives to a program in one variable or argument; put it into a file";
  }

 private:
  std::size_t total_ = 0;
};

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

std::string FirstOf(const std::vector<std::string>& list) { return list.empty() ? std::string() : list.front(); }

}  // namespace

Result<std::string> ExpandReferences(std::string_view text,
                                     const std::function<const std::string*(std::string_view)>& lookup) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t dollar = text.find('$', at);
    out += text.substr(at, dollar - at);
    if (dollar == std::string_view::npos) break;
    const std::string_view rest = text.substr(dollar + 1);
    const std::size_t close = rest.starts_with('(') ? rest.find(')') : std::string_view::npos;
    if (close != std::string_view::npos) {
      const std::string* value = lookup(rest.substr(1, close - 1));
      out += value != nullptr ? std::string_view(*value) : text.substr(dollar, close + 2);
      at = dollar + 1 + close + 1;
    } else if (rest.starts_with('$')) {
      out += '$';
      at = dollar + 2;
    } else {  // "$x", "$(" without an end, or the last character: as written
      out += text.substr(dollar, 2);
      at = dollar + 2;
    }
    if (out.size() > kLongestWord) break;
  }
  if (out.size() > kLongestWord) return Fail(Code::kInvalid, WordCount::TooLong());
  return out;
}

Result<std::string> FieldValue(const Pod& pod, std::string_view path, const NodeFacts& node) {
  if (path == "metadata.name") return pod.name;
  if (path == "metadata.namespace") return pod.namespace_;
  if (path == "metadata.uid") return pod.uid;
  if (path == "spec.nodeName") return node.node_name;
  if (path == "status.hostIP") return FirstOf(node.host_ips);
  if (path == "status.hostIPs") return Join(node.host_ips, ",");
  if (path == "status.podIP") return FirstOf(node.pod_ips);
  if (path == "status.podIPs") return Join(node.pod_ips, ",");
  if (const auto key = Subscript(path, "metadata.labels")) return ValueOrEmpty(pod.labels, *key);
  if (const auto key = Subscript(path, "metadata.annotations")) return ValueOrEmpty(pod.annotations, *key);
  return Fail(Code::kInvalid, "fieldPath \"" + Printable(path) +
                                  "\" is not supported: use metadata.name, metadata.namespace, metadata.uid, "
                                  "metadata.labels['KEY'], metadata.annotations['KEY'], spec.nodeName, status.hostIP "
                                  "or status.podIP");
}

Result<Environment> ResolveEnv(const Pod& pod, const Container& container, const NodeFacts& node) {
  Variables variables;
  const auto find = [&](std::string_view name) { return variables.Find(name); };
  for (const EnvVar& variable : container.env) {
    Result<std::string> value = variable.field_path.empty() ? ExpandReferences(variable.value, find)
                                                            : FieldValue(pod, variable.field_path, node);
    if (!value) return Wrap(std::move(value).error(), "container " + container.name + ", env " + variable.name);
    variables.Set(variable.name, *std::move(value));
  }
  Environment env = std::move(variables).Take();
  WordCount count;
  for (const auto& [name, value] : env)
    if (auto fits = count.Add(name.size() + 1 + value.size()); !fits)
      return Wrap(std::move(fits).error(), "container " + container.name + ", env " + name);
  return env;
}

Result<Container> ExpandCommand(Container container, const Environment& env) {
  Variables variables;
  WordCount count;
  for (const auto& [name, value] : env) {
    variables.Set(name, value);
    BERTH_RETURN_IF_ERROR(count.Add(name.size() + 1 + value.size()));
  }
  const auto expand = [&](std::vector<std::string>& words, const char* field) -> Result<void> {
    for (std::size_t i = 0; i < words.size(); ++i) {
      Result<std::string> word =
          ExpandReferences(words[i], [&](std::string_view name) { return variables.Find(name); });
      Result<void> fits = word ? count.Add(word->size()) : std::unexpected(word.error());
      if (!fits)
        return Wrap(std::move(fits).error(),
                    "container " + container.name + ", " + field + "[" + std::to_string(i) + "]");
      words[i] = *std::move(word);
    }
    return {};
  };
  BERTH_RETURN_IF_ERROR(expand(container.command, "command"));
  BERTH_RETURN_IF_ERROR(expand(container.args, "args"));
  return container;
}

}  // namespace berth::runtime
