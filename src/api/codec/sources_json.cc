// What pods take from elsewhere: variables and volumes of v1.Pod, both ways; ConfigMaps and Secrets.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/codec.h"
#include "api/codec/json_parts.h"
#include "base/base64.h"

namespace berth::codec {
namespace {

std::string TextIn(const Reader& reader, const char* key) {
  return reader.Has(key) ? reader.Field(key).String() : std::string();
}
bool FlagIn(const Reader& reader, const char* key) { return reader.Has(key) && reader.Field(key).Bool(); }
std::vector<Reader> ListIn(const Reader& reader, const char* key) {
  return reader.Has(key) ? reader.Field(key).Items() : std::vector<Reader>();
}
std::optional<std::int32_t> ModeIn(const Reader& reader, const char* key) {
  return reader.Has(key) ? std::optional(reader.Field(key).Integer<std::int32_t>()) : std::nullopt;
}

Json AmountJson(const ResourceField& field) {
  Json out = Json::object();
  if (!field.container.empty()) out["containerName"] = field.container;
  out["resource"] = field.resource;
  out["divisor"] = field.divisor.ToString();
  return out;
}
ResourceField ReadAmount(const Reader& reader) {
  return {.container = TextIn(reader, "containerName"),
          .resource = reader.Field("resource").String(),
          .divisor = reader.Field("divisor").Amount()};
}

Json KeyJson(const DocumentKey& key) {
  Json out = {{"name", key.name}, {"key", key.key}};
  if (key.optional) out["optional"] = true;
  return out;
}

Json VariableJson(const EnvVar& var) {
  Json from = Json::object();
  if (!var.field_path.empty())
    from["fieldRef"] = {{"fieldPath", var.field_path}};
  else if (var.resource)
    from["resourceFieldRef"] = AmountJson(*var.resource);
  else if (var.document)
    from[var.document->kind == DocumentKind::kSecret ? "secretKeyRef" : "configMapKeyRef"] = KeyJson(*var.document);
  if (from.empty()) return {{"name", var.name}, {"value", var.value}};
  return {{"name", var.name}, {"valueFrom", std::move(from)}};
}

EnvVar ReadVariable(const Reader& reader) {
  EnvVar out;
  out.name = reader.Field("name").String();
  if (!reader.Has("valueFrom")) {
    out.value = reader.Field("value").String();
    return out;
  }
  const Reader from = reader.Field("valueFrom");
  for (const DocumentKind kind : {DocumentKind::kConfigMap, DocumentKind::kSecret}) {
    const char* const name = kind == DocumentKind::kSecret ? "secretKeyRef" : "configMapKeyRef";
    if (!from.Has(name)) continue;
    const Reader ref = from.Field(name);
    out.document = {.kind = kind,
                    .name = ref.Field("name").String(),
                    .key = ref.Field("key").String(),
                    .optional = FlagIn(ref, "optional")};
  }
  if (from.Has("resourceFieldRef")) out.resource = ReadAmount(from.Field("resourceFieldRef"));
  if (!out.document && !out.resource) out.field_path = from.Field("fieldRef").Field("fieldPath").String();
  return out;
}

Json ItemJson(const VolumeItem& item) {
  Json out = Json::object();
  if (!item.key.empty()) out["key"] = item.key;
  if (!item.field_path.empty()) out["fieldRef"] = {{"fieldPath", item.field_path}};
  if (item.resource) out["resourceFieldRef"] = AmountJson(*item.resource);
  out["path"] = item.path;
  if (item.mode) out["mode"] = *item.mode;
  return out;
}

VolumeItem ReadItem(const Reader& reader) {
  VolumeItem out{.path = reader.Field("path").String(), .key = TextIn(reader, "key"), .field_path = {}};
  if (reader.Has("fieldRef")) out.field_path = reader.Field("fieldRef").Field("fieldPath").String();
  if (reader.Has("resourceFieldRef")) out.resource = ReadAmount(reader.Field("resourceFieldRef"));
  out.mode = ModeIn(reader, "mode");
  return out;
}

Json SourceJson(const VolumeSource& source, const char* name_field) {
  Json out = Json::object();
  if (!source.name.empty()) out[name_field] = source.name;
  if (source.optional) out["optional"] = true;
  if (!source.items.empty()) out["items"] = ListJson(source.items, ItemJson);
  return out;
}

VolumeSource ReadSource(const Reader& reader, const std::string& key, const char* name_field) {
  VolumeSource out{.document = std::nullopt};
  if (key != "downwardAPI") out.document = key == "secret" ? DocumentKind::kSecret : DocumentKind::kConfigMap;
  out.name = TextIn(reader, name_field);
  out.optional = FlagIn(reader, "optional");
  for (const Reader& item : ListIn(reader, "items")) out.items.push_back(ReadItem(item));
  return out;
}

const char* KeyOf(const VolumeSource& source) {
  if (!source.document) return "downwardAPI";
  return *source.document == DocumentKind::kSecret ? "secret" : "configMap";
}

Json FilesJson(const Volume& volume) {
  Json out = Json::object();
  if (volume.type == "projected") {
    out["sources"] = ListJson(
        volume.sources, [](const VolumeSource& source) { return Json{{KeyOf(source), SourceJson(source, "name")}}; });
  } else if (!volume.sources.empty()) {
    out = SourceJson(volume.sources.front(), volume.type == "secret" ? "secretName" : "name");
  }
  if (volume.file_mode) out["defaultMode"] = *volume.file_mode;
  return out;
}

void ReadFiles(const Reader& reader, Volume& out) {
  out.kind = Volume::Kind::kFiles;
  out.file_mode = ModeIn(reader, "defaultMode");
  if (out.type != "projected")
    return out.sources.push_back(ReadSource(reader, out.type, out.type == "secret" ? "secretName" : "name"));
  for (const Reader& source : ListIn(reader, "sources"))
    for (const auto& [key, from] : source.Members()) out.sources.push_back(ReadSource(from, key, "name"));
}

bool IsOfFiles(const std::string& type) {
  return type == "configMap" || type == "secret" || type == "downwardAPI" || type == "projected";
}

}  // namespace

void PutEnvironment(Json& out, const Container& c) {
  for (const EnvFrom& from : c.env_from) {
    Json ref = {{"name", from.name}};
    if (from.optional) ref["optional"] = true;
    Json item = Json::object();
    if (!from.prefix.empty()) item["prefix"] = from.prefix;
    item[from.kind == DocumentKind::kSecret ? "secretRef" : "configMapRef"] = std::move(ref);
    out["envFrom"].push_back(std::move(item));
  }
  if (!c.env.empty()) out["env"] = ListJson(c.env, VariableJson);
}

void ReadEnvironment(const Reader& reader, Container& out) {
  for (const Reader& item : ListIn(reader, "envFrom")) {
    const bool secret = item.Has("secretRef");
    const Reader ref = item.Field(secret ? "secretRef" : "configMapRef");
    out.env_from.push_back({.kind = secret ? DocumentKind::kSecret : DocumentKind::kConfigMap,
                            .name = ref.Field("name").String(),
                            .prefix = TextIn(item, "prefix"),
                            .optional = FlagIn(ref, "optional")});
  }
  for (const Reader& item : ListIn(reader, "env")) out.env.push_back(ReadVariable(item));
}

Json VolumeJson(const Volume& volume) {
  Json source = Json::object();
  std::string key = volume.type;
  if (volume.kind == Volume::Kind::kEmptyDir) {
    key = "emptyDir";
    if (!volume.medium.empty()) source["medium"] = volume.medium;
    if (volume.size_limit) source["sizeLimit"] = volume.size_limit->ToString();
  } else if (volume.kind == Volume::Kind::kHostPath) {
    key = "hostPath";
    source["path"] = volume.host_path;
    if (!volume.type.empty()) source["type"] = volume.type;
  } else if (volume.kind == Volume::Kind::kFiles) {
    source = FilesJson(volume);
  }
  return {{"name", volume.name}, {key, std::move(source)}};
}

Volume ReadVolume(const Reader& reader) {
  Volume out;
  out.name = reader.Field("name").String();
  for (const auto& [key, source] : reader.Members()) {
    if (key == "name") continue;
    if (key == "emptyDir") {
      out.medium = TextIn(source, "medium");
      if (source.Has("sizeLimit")) out.size_limit = source.Field("sizeLimit").Amount();
    } else if (key == "hostPath") {
      out.kind = Volume::Kind::kHostPath;
      out.host_path = source.Field("path").String();
      out.type = TextIn(source, "type");
    } else {
      out.kind = Volume::Kind::kOther;
      out.type = key;
      if (IsOfFiles(key)) ReadFiles(source, out);
    }
  }
  return out;
}

Json ToJson(const ConfigDocument& document) {
  const bool secret = document.kind == DocumentKind::kSecret;
  Json out = {{"apiVersion", "v1"},
              {"kind", Name(document.kind)},
              {"metadata", {{"name", document.name}, {"namespace", document.namespace_}}}};
  if (!document.type.empty()) out["type"] = document.type;
  if (document.immutable) out["immutable"] = true;
  for (const auto& [key, value] : document.data) out["data"][key] = secret ? ToBase64(value) : value;
  for (const auto& [key, value] : document.binary) out["binaryData"][key] = ToBase64(value);
  return out;
}

}  // namespace berth::codec
