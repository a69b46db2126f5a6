#include "manifest/env_reader.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/name_validation.h"
#include "base/quantity.h"
#include "base/text.h"
#include "manifest/document_reader.h"

namespace berth::manifest {
namespace {

constexpr std::string_view kFieldRefIgnored[] = {"apiVersion"};

constexpr std::string_view kCpuDivisors[] = {"1", "1m"};
constexpr std::string_view kByteDivisors[] = {"1",   "1k",  "1M",  "1G",  "1T",  "1P", "1E",
                                              "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};

std::string TextOf(const Node& map, std::string_view key) {
  const Node* node = Find(map, key);
  return node != nullptr && node->kind == Node::Kind::kString ? node->text : "";
}

/// Of that name, app or init.
bool HasContainer(const Node& spec, const std::string& name) {
  for (const std::string_view key : {"containers", "initContainers"})
    if (const Node* list = Find(spec, key); list != nullptr)
      for (const Node& item : list->items)
        if (TextOf(item, "name") == name) return true;
  return false;
}

class EnvReader {
 public:
  explicit EnvReader(const Node& spec) : spec_(spec) {}

  EnvVar Read(Object& object) const {
    EnvVar var;
    object.Read("name", var.name);
    object.Read("value", var.value);
    object.Within("valueFrom", [&](Object& from) {
      if (!var.value.empty()) from.report().Problem(from.path(), "Invalid value: may not be given beside a value");
      ReadSource(from, var);
      from.Finish();
    });
    object.Finish();
    return var;
  }

  static EnvFrom ReadFrom(Object& object) {
    EnvFrom out;
    int sources = 0;
    object.Read("prefix", out.prefix);
    if (!out.prefix.empty())
      if (std::string wrong = CheckEnvName(out.prefix); !wrong.empty())
        object.report().Problem(object.PathOf("prefix"), std::move(wrong));
    for (const DocumentKind kind : {DocumentKind::kConfigMap, DocumentKind::kSecret})
      object.Within(kind == DocumentKind::kSecret ? "secretRef" : "configMapRef", [&](Object& ref) {
        ++sources;
        out.kind = kind;
        ReadDocumentName(ref, "name", kind, out.name);
        ref.Read("optional", out.optional);
        ref.Finish();
      });
    if (sources != 1)
      object.report().Problem(object.path(), "Invalid value: must name one source: configMapRef or secretRef");
    object.Finish();
    return out;
  }

 private:
  void ReadSource(Object& from, EnvVar& var) const {
    int sources = 0;
    from.Within("fieldRef", [&](Object& field) {
      ++sources;
      field.Read("fieldPath", var.field_path);
      if (var.field_path.empty())
        field.report().Problem(field.PathOf("fieldPath"),
                               "Required value: the field that is meant, such as metadata.name");
      field.Finish(kFieldRefIgnored);
    });
    if (var.field_path == "spec.serviceAccountName") {
      var.field_path.clear();
      var.value = TextOf(spec_, "serviceAccountName");
      if (var.value.empty()) var.value = TextOf(spec_, "serviceAccount");
    }
    from.Within("resourceFieldRef", [&](Object& field) {
      ++sources;
      ReadResourceField(field, spec_, var.resource.emplace());
    });
    for (const DocumentKind kind : {DocumentKind::kConfigMap, DocumentKind::kSecret})
      from.Within(kind == DocumentKind::kSecret ? "secretKeyRef" : "configMapKeyRef", [&](Object& ref) {
        ++sources;
        DocumentKey& key = var.document.emplace();
        key.kind = kind;
        ReadDocumentName(ref, "name", kind, key.name);
        ref.Read("key", key.key);
        if (std::string wrong = CheckConfigKey(key.key); !wrong.empty())
          ref.report().Problem(ref.PathOf("key"), std::move(wrong));
        ref.Read("optional", key.optional);
        ref.Finish();
      });
    if (from.Take("fileKeyRef") != nullptr) ++sources;  // refused by the table of fields
    if (sources != 1)
      from.report().Problem(from.path(),
                            "Invalid value: must name one source; Berth knows fieldRef, resourceFieldRef, "
                            "configMapKeyRef and secretKeyRef");
  }

  const Node& spec_;
};

}  // namespace

void ReadResourceField(Object& field, const Node& spec, ResourceField& out) {
  field.Read("containerName", out.container);
  field.Read("resource", out.resource);
  if (const Node* node = field.Take("divisor"))
    ReadQuantity(*node, field.PathOf("divisor"), field.report(), out.divisor);
  if (out.divisor.IsZero()) out.divisor = Quantity::FromUnits(1);
  field.Finish();
  const auto wrong = [&](std::string_view key, std::string text) {
    field.report().Problem(field.PathOf(key), std::move(text));
  };
  if (!out.container.empty() && !HasContainer(spec, out.container))
    wrong("containerName", "Not found: \"" + Printable(out.container, 80) + "\": name a container of this pod");
  const std::size_t dot = out.resource.find('.');
  const std::string list = out.resource.substr(0, dot);
  const std::string name = dot == std::string::npos ? "" : out.resource.substr(dot + 1);
  const bool known = name.starts_with("hugepages-") || name == "cpu" || name == "memory" || name == "ephemeral-storage";
  if ((list != "limits" && list != "requests") || !known)
    return wrong("resource", "Unsupported value: \"" + Printable(out.resource, 80) +
                                 "\": use limits or requests of cpu, memory, ephemeral-storage or hugepages-<size>, "
                                 "for example limits.cpu");
  const std::span<const std::string_view> divisors = name == "cpu" ? std::span<const std::string_view>(kCpuDivisors)
                                                                   : std::span<const std::string_view>(kByteDivisors);
  if (std::ranges::find(divisors, out.divisor.ToString()) == divisors.end())
    wrong("divisor", "Unsupported value: \"" + out.divisor.ToString() +
                         (name == "cpu" ? "\": use 1 or 1m" : "\": use 1, or 1 of k, M, G, Ki, Mi, Gi, ..."));
}

void ReadEnvironment(Object& container, const Node& spec, Container& out) {
  const EnvReader reader(spec);
  Report& report = container.report();
  container.Each("env", [&](const Node& item, const Path& at) {
    Object object(item, at, report);
    out.env.push_back(reader.Read(object));
  });
  container.Each("envFrom", [&](const Node& item, const Path& at) {
    Object object(item, at, report);
    out.env_from.push_back(EnvReader::ReadFrom(object));
  });
}

}  // namespace berth::manifest
