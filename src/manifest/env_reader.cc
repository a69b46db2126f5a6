#include "manifest/env_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "base/text.h"

namespace berth::manifest {
namespace {

constexpr std::string_view kFieldRefIgnored[] = {"apiVersion"};

/// What a reference names and how to say that it cannot be resolved here.
struct EnvReference {
  std::string_view field;
  std::string_view what;
};
constexpr EnvReference kKeyReferences[] = {{"secretKeyRef", "static pods may not reference secrets"},
                                           {"configMapKeyRef", "static pods may not reference configmaps"},
                                           {"fileKeyRef", "keys of files are not supported"}};
constexpr EnvReference kWholeReferences[] = {{"secretRef", "static pods may not reference secrets"},
                                             {"configMapRef", "static pods may not reference configmaps"}};

constexpr std::string_view kCpuDivisors[] = {"1", "1m"};
constexpr std::string_view kByteDivisors[] = {"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                                              "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};

/// True if any is there. What only an API server can resolve stops a pod that is to run and warns otherwise.
bool TellReferences(Object& object, std::span<const EnvReference> references, const PodOptions& options) {
  bool found = false;
  for (const EnvReference& reference : references) {
    const Node* node = object.Take(reference.field);
    if (node == nullptr) continue;
    found = true;
    if (options.run_by != RunBy::kNobody || SaysOptional(*node)) continue;
    const Path path = object.PathOf(reference.field);
    if (options.to_be_run)
      object.report().Problem(path, "Forbidden: " + std::string(reference.what) + "; write the value into env[].value");
    else
      object.report().Warn(path, "ignored: it has no bearing on placement");
  }
  return found;
}

std::string TextOf(const Node& map, std::string_view key) {
  const Node* node = Find(map, key);
  return node != nullptr && node->kind == Node::Kind::kString ? node->text : "";
}

/// The container of that name, app or init; nullptr: there is none.
const Node* ContainerNamed(const Node& spec, const std::string& name) {
  for (const std::string_view key : {"containers", "initContainers"})
    if (const Node* list = Find(spec, key); list != nullptr)
      for (const Node& item : list->items)
        if (TextOf(item, "name") == name) return &item;
  return nullptr;
}

/// What `container` says of an amount; nullopt: nothing that can be read (which is told where it stands).
std::optional<Quantity> AmountIn(const Node& container, std::string_view list, std::string_view name) {
  const Node* at = Find(container, "resources");
  if (at != nullptr) at = Find(*at, list);
  if (at != nullptr) at = Find(*at, name);
  if (at == nullptr || at->kind == Node::Kind::kNull) return std::nullopt;
  const Result<Quantity> amount = Quantity::Parse(at->text);
  return amount ? std::optional(*amount) : std::nullopt;
}

/// As the kubelet rounds: up, to whole divisors.
std::string InDivisors(std::string_view name, const Quantity& amount, const Quantity& divisor) {
  const auto parts = [&](const Quantity& q) { return static_cast<double>(name == "cpu" ? q.MilliValue() : q.Value()); };
  return std::to_string(static_cast<std::int64_t>(std::ceil(parts(amount) / parts(divisor))));
}

class AmountReader {
 public:
  AmountReader(Object& field, const EnvScope& scope) : field_(field), scope_(scope) {
    field.Read("containerName", container_);
    field.Read("resource", resource_);
    if (const Node* node = field.Take("divisor"))
      ReadQuantity(*node, field.PathOf("divisor"), field.report(), divisor_);
    if (divisor_.IsZero()) divisor_ = Quantity::FromUnits(1);
    field.Finish();
  }

  /// nullopt: a problem, or a warning, is told.
  std::optional<std::string> Value() {
    const Node* container = container_.empty() ? &scope_.container : ContainerNamed(scope_.spec, container_);
    if (container == nullptr)
      return Wrong("containerName", "Not found: \"" + Printable(container_, 80) + "\": name a container of this pod");
    const std::size_t dot = resource_.find('.');
    const std::string list = resource_.substr(0, dot);
    const std::string name = dot == std::string::npos ? "" : resource_.substr(dot + 1);
    const bool huge = name.starts_with("hugepages-");
    const bool known = huge || name == "cpu" || name == "memory" || name == "ephemeral-storage";
    if ((list != "limits" && list != "requests") || !known)
      return Wrong("resource", "Unsupported value: \"" + Printable(resource_, 80) +
                                   "\": use limits or requests of cpu, memory, ephemeral-storage or hugepages-<size>, "
                                   "for example limits.cpu");
    const std::span<const std::string_view> divisors = name == "cpu" ? std::span<const std::string_view>(kCpuDivisors)
                                                                     : std::span<const std::string_view>(kByteDivisors);
    if (std::ranges::find(divisors, divisor_.ToString()) == divisors.end())
      return Wrong("divisor", "Unsupported value: \"" + divisor_.ToString() +
                                  (name == "cpu" ? "\": use 1 or 1m" : "\": use 1, or 1 of k, M, G, Ki, Mi, Gi, ..."));
    std::optional<Quantity> amount = AmountIn(*container, list, name);
    if (!amount && list == "requests") amount = AmountIn(*container, "limits", name);  // its default
    if (!amount && (list == "requests" || huge)) amount = Quantity();
    if (!amount) return WithoutLimit(name);
    return InDivisors(name, *amount, divisor_);
  }

 private:
  std::optional<std::string> Wrong(std::string_view key, std::string text) {
    field_.report().Problem(field_.PathOf(key), std::move(text));
    return std::nullopt;
  }

  /// A kubelet takes what its node has to give.
  std::optional<std::string> WithoutLimit(const std::string& name) {
    const std::string text = "the container has no limit of " + name + ", and the node's allocatable is not put in; " +
                             "give the container a limit, or write the value into env[].value";
    if (scope_.options.to_be_run)
      field_.report().Problem(field_.PathOf("resource"), "Forbidden: " + text);
    else
      field_.report().Warn(field_.PathOf("resource"), text);
    return std::nullopt;
  }

  Object& field_;
  const EnvScope& scope_;
  std::string container_;
  std::string resource_;
  Quantity divisor_;
};

class EnvReader {
 public:
  explicit EnvReader(const EnvScope& scope) : scope_(scope) {}

  /// nullopt: a variable that is left out.
  std::optional<EnvVar> Read(Object& object) {
    EnvVar var;
    bool left_out = false;
    object.Read("name", var.name);
    object.Read("value", var.value);
    object.Within("valueFrom", [&](Object& from) {
      if (!var.value.empty()) from.report().Problem(from.path(), "Invalid value: may not be given beside a value");
      left_out = !ReadSource(from, var);
      from.Finish();
    });
    object.Finish();
    return left_out ? std::nullopt : std::optional(std::move(var));
  }

 private:
  /// False: it has no value here.
  bool ReadSource(Object& from, EnvVar& var) {
    bool known = from.Within("fieldRef", [&](Object& field) {
      field.Read("fieldPath", var.field_path);
      if (var.field_path.empty()) field.report().Problem(field.PathOf("fieldPath"), "Required value");
      field.Finish(kFieldRefIgnored);
    });
    if (var.field_path == "spec.serviceAccountName") {
      var.field_path.clear();
      var.value = TextOf(scope_.spec, "serviceAccountName");
      if (var.value.empty()) var.value = TextOf(scope_.spec, "serviceAccount");
    }
    bool has_value = known;
    known = from.Within("resourceFieldRef", [&](Object& field) {
      std::optional<std::string> amount = AmountReader(field, scope_).Value();
      has_value = amount.has_value();
      var.value = std::move(amount).value_or("");
    }) || known;
    if (TellReferences(from, kKeyReferences, scope_.options)) return false;
    if (!known)
      from.report().Problem(from.path(),
                            "Invalid value: must name a source; Berth knows fieldRef and resourceFieldRef");
    return has_value;
  }

  const EnvScope& scope_;
};

}  // namespace

bool SaysOptional(const Node& reference) {
  const Node* optional = Find(reference, "optional");
  return optional != nullptr && optional->text == "true";
}

void ReadEnvironment(Object& container, const EnvScope& scope, std::vector<EnvVar>& out) {
  EnvReader reader(scope);
  Report& report = container.report();
  container.Each("env", [&](const Node& item, const Path& at) {
    Object object(item, at, report);
    if (std::optional<EnvVar> var = reader.Read(object)) out.push_back(*std::move(var));
  });
  container.Each("envFrom", [&](const Node& item, const Path& at) {
    constexpr std::string_view kUnused[] = {"prefix"};
    Object object(item, at, report);
    TellReferences(object, kWholeReferences, scope.options);
    object.Finish(kUnused);
  });
}

}  // namespace berth::manifest
