#include "runtime/lifecycle/env.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/text.h"

namespace berth::runtime {
namespace {

/// Counts what a program is given, as execve does: each word with its end and a pointer to it.
class WordCount {
 public:
  Result<void> Add(std::size_t size) {
    if (size > kLongestWord) return Fail(Code::kInvalid, TooLong());
    total_ += Cost(size);
    if (total_ <= kMostWords) return {};
    return Fail(Code::kInvalid,
                "variables and arguments are longer than the 6 MiB that Linux gives to a program; put "
                "them into a file");
  }
  void Drop(std::size_t size) { total_ -= Cost(size); }
  std::size_t total() const { return total_; }
  static std::string TooLong() {
    return "longer than the " + std::to_string(kLongestWord) +
           " bytes that Linux gives to a program in one variable or argument; put it into a file";
  }

 private:
  static std::size_t Cost(std::size_t size) { return size + 1 + sizeof(char*); }

  std::size_t total_ = 0;
};

/// What setting the variables of one container may cost, and of all containers of a pod together: the loop does it.
constexpr std::size_t kMostWork = std::size_t{16} << 20;
constexpr std::size_t kMostPodWork = std::size_t{32} << 20;

/// Variables in their order, found by name.
class Variables {
 public:
  const std::string* Find(std::string_view name) const {
    const auto it = places_.find(name);
    return it == places_.end() ? nullptr : &list_[it->second].second;
  }
  /// Errors: as WordCount::Add. What is too much is never kept, however many variables there are; nor is a few of them
  /// set without end.
  Result<void> Set(const std::string& name, std::string value) {
    const auto [it, added] = places_.try_emplace(name, list_.size());
    work_ += kCostOfSetting + name.size() + value.size();
    if (work_ > kMostWork)
      return Fail(Code::kInvalid, "variables are set too often; name each once, or take fewer documents");
    if (!added) count_.Drop(name.size() + 1 + list_[it->second].second.size());
    BERTH_RETURN_IF_ERROR(count_.Add(name.size() + 1 + value.size()));
    if (added)
      list_.emplace_back(name, std::move(value));
    else
      list_[it->second].second = std::move(value);
    return {};
  }
  WordCount& count() { return count_; }
  /// Bytes that were set, also those that were replaced, and more for each time.
  std::size_t work() const { return work_; }
  const Environment& list() const { return list_; }
  Environment Take() && { return std::move(list_); }

 private:
  static constexpr std::size_t kCostOfSetting = 64;

  Environment list_;
  WordCount count_;
  std::size_t work_ = 0;
  std::map<std::string, std::size_t, std::less<>> places_;
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

std::int64_t InDivisors(std::string_view name, const Quantity& amount, const Quantity& divisor) {
  const auto parts = [&](const Quantity& q) { return static_cast<double>(name == "cpu" ? q.MilliValue() : q.Value()); };
  return static_cast<std::int64_t>(std::ceil(parts(amount) / parts(divisor)));
}

/// "configmap", as the kubelet has it in messages.
std::string InLower(DocumentKind kind) { return kind == DocumentKind::kSecret ? "secret" : "configmap"; }

/// Puts all keys of a document into `variables`.
Result<void> AddAllOf(const EnvFrom& from, const Pod& pod, const NodeFacts& node, Variables& variables) {
  const auto document = FindDocument(node, pod, from.kind, from.name);
  if (!document) return from.optional ? Result<void>() : std::unexpected(document.error());
  for (const auto& [key, value] : (*document)->data)
    if (auto set = variables.Set(from.prefix + key, value); !set)
      return Wrap(std::move(set).error(), Printable(from.prefix + key));
  return {};
}

/// nullopt: it is not there and need not be.
Result<std::optional<std::string>> KeyValue(const DocumentKey& key, const Pod& pod, const NodeFacts& node) {
  const auto document = FindDocument(node, pod, key.kind, key.name);
  if (!document) {
    if (key.optional) return std::nullopt;
    return std::unexpected(document.error());
  }
  const auto value = (*document)->data.find(key.key);
  if (value != (*document)->data.end()) return value->second;
  if (key.optional) return std::nullopt;
  return std::unexpected(NoSuchKey(**document, key.key));
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

Result<std::string> AmountValue(const Pod& pod, const Container* own, const ResourceField& field,
                                const NodeFacts& node) {
  const Container* container = field.container.empty() ? own : nullptr;
  ForEachContainer(pod, [&](const Container& c, ContainerKind) {
    if (!field.container.empty() && c.name == field.container) container = &c;
  });
  if (container == nullptr) return Fail(Code::kInvalid, "the pod has no container " + Printable(field.container, 80));
  const std::size_t dot = field.resource.find('.');
  const std::string name = dot == std::string::npos ? "" : field.resource.substr(dot + 1);
  const bool limit = field.resource.starts_with("limits.");
  const ResourceList& amounts = limit ? container->resources.limits : container->resources.requests;
  const auto given = amounts.find(name);
  Quantity amount = given == amounts.end() ? Quantity() : given->second;
  if (limit && given == amounts.end() && !name.starts_with("hugepages-")) {
    const auto there = node.allocatable.find(name);
    if (there == node.allocatable.end())
      return Fail(Code::kInvalid, field.resource + ": the container has none, and the node does not say what it has; " +
                                      "give the container a limit");
    amount = there->second;
  }
  if (field.divisor.IsZero()) return Fail(Code::kInvalid, field.resource + ": the divisor is 0");
  return std::to_string(InDivisors(name, amount, field.divisor));
}

Result<std::shared_ptr<const ConfigDocument>> FindDocument(const NodeFacts& node, const Pod& pod, DocumentKind kind,
                                                           const std::string& name) {
  if (node.documents != nullptr) {
    const auto found = node.documents->find(DocumentName(kind, pod.namespace_, name));
    if (found != node.documents->end()) return found->second;
  }
  return Fail(Code::kNotFound, InLower(kind) + " \"" + Printable(name, 253) + "\" not found");
}

Error NoSuchKey(const ConfigDocument& document, const std::string& key) {
  return {.code = Code::kNotFound,
          .message = "couldn't find key " + Printable(key, 253) + " in " + std::string(Name(document.kind)) + " " +
                     document.namespace_ + "/" + document.name};
}

namespace {

/// As ResolveEnv, into `variables`, also when it ends in an error.
Result<void> Resolve(const Pod& pod, const Container& container, const NodeFacts& node, Variables& variables) {
  const auto find = [&](std::string_view name) { return variables.Find(name); };
  for (const EnvFrom& from : container.env_from)
    if (auto added = AddAllOf(from, pod, node, variables); !added)
      return Wrap(std::move(added).error(), "container " + container.name + ", envFrom");
  for (const EnvVar& variable : container.env) {
    Result<std::optional<std::string>> value = [&]() -> Result<std::optional<std::string>> {
      if (variable.document) return KeyValue(*variable.document, pod, node);
      if (variable.resource) return AmountValue(pod, &container, *variable.resource, node);
      if (!variable.field_path.empty()) return FieldValue(pod, variable.field_path, node);
      return ExpandReferences(variable.value, find);
    }();
    Result<void> set = value ? Result<void>() : std::unexpected(value.error());
    if (value && *value) set = variables.Set(variable.name, **std::move(value));
    if (!set) return Wrap(std::move(set).error(), "container " + container.name + ", env " + variable.name);
  }
  for (const auto& [name, value] : variables.list())
    if (value.contains('\0'))
      return Fail(Code::kInvalid, "container " + container.name + ", env " + name +
                                      ": a NUL byte is in it, which ends a variable; mount it as a file");
  return {};
}

/// As ExpandCommand, with `variables` as the environment, whose count goes on.
Result<Container> ExpandWords(Container container, Variables& variables) {
  const auto expand = [&](std::vector<std::string>& words, const char* field) -> Result<void> {
    for (std::size_t i = 0; i < words.size(); ++i) {
      Result<std::string> word =
          ExpandReferences(words[i], [&](std::string_view name) { return variables.Find(name); });
      Result<void> fits = word ? variables.count().Add(word->size()) : std::unexpected(word.error());
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

}  // namespace

Result<Environment> ResolveEnv(const Pod& pod, const Container& container, const NodeFacts& node) {
  Variables variables;
  BERTH_RETURN_IF_ERROR(Resolve(pod, container, node, variables));
  return std::move(variables).Take();
}

Result<Container> ExpandCommand(Container container, const Environment& env) {
  Variables variables;
  for (const auto& [name, value] : env) BERTH_RETURN_IF_ERROR(variables.Set(name, value));
  return ExpandWords(std::move(container), variables);
}

Result<void> CheckPodWords(const Pod& pod, const NodeFacts& node) {
  std::size_t total = 0;
  std::size_t work = 0;
  const auto too_much = [&] { return total > kMostPodWords || work > kMostPodWork; };
  ForEachContainer(pod, [&](const Container& container, ContainerKind) {
    if (too_much()) return;
    Variables variables;
    const bool resolved = Resolve(pod, container, node, variables).has_value();
    if (resolved && ExpandWords(container, variables)) total += variables.count().total();
    work += variables.work();
  });
  if (!too_much()) return {};
  return Fail(
      Code::kInvalid,
      "spec.containers: variables and arguments of all containers together are longer than 8 MiB; put them into "
      "files, or make several pods of it");
}

}  // namespace berth::runtime
