#include "manifest/document_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/name_validation.h"
#include "base/text.h"

namespace berth::manifest {
namespace {

constexpr std::string_view kDocumentUnused[] = {"apiVersion", "kind"};

class DocumentReader {
 public:
  DocumentReader(const Node& node, const Path& path, DocumentKind kind, Report& report)
      : object_(node, path, report), report_(report) {
    out_.kind = kind;
  }

  ConfigDocument Read() && {
    object_.Within("metadata", [&](Object& metadata) {
      metadata.Read("name", out_.name);
      metadata.Read("namespace", out_.namespace_);
      Check(CheckSubdomainName(out_.name), metadata.PathOf("name"));
      if (out_.namespace_.empty()) out_.namespace_ = "default";
      Check(CheckLabelName(out_.namespace_), metadata.PathOf("namespace"));
      metadata.Finish(kObjectMetadataUnused);
    });
    if (out_.name.empty() && object_.Take("metadata") == nullptr)
      report_.Problem(object_.PathOf("metadata"), "Required value: give it a name");
    object_.Read("immutable", out_.immutable);
    if (out_.kind == DocumentKind::kSecret) {
      object_.Read("type", out_.type);
      ReadValues("data", /*encoded=*/true, out_.data);
      ReadValues("stringData", /*encoded=*/false, out_.data);
    } else {
      ReadValues("data", /*encoded=*/false, out_.data);
      ReadValues("binaryData", /*encoded=*/true, out_.binary);
      for (const auto& [key, value] : out_.binary)
        if (out_.data.contains(key)) Entry("binaryData", key, "Invalid value: the key is in data too; remove one");
    }
    CheckSize();
    object_.Finish(kDocumentUnused);
    return std::move(out_);
  }

 private:
  void Check(std::string message, const Path& path) {
    if (!message.empty()) report_.Problem(path, std::move(message));
  }
  void Entry(std::string_view field, std::string_view key, std::string message) {
    const Path map = object_.PathOf(field);
    report_.Problem(Path{.parent = &map, .key = key, .index = -1, .entry = true}, std::move(message));
  }

  void ReadValues(std::string_view field, bool encoded, std::map<std::string, std::string>& out) {
    object_.EachEntry(field, [&](const std::string& key, const Node& node, const Path& path) {
      Check(CheckConfigKey(key), path);
      std::string& value = out[key];
      value.clear();
      if (node.kind == Node::Kind::kNull) return;
      if (node.kind != Node::Kind::kString)
        return report_.Problem(
            path, "Invalid value: " + std::string(Describe(node.kind)) + ": expected a string; put it in quotes");
      if (!encoded) {
        value = node.text;
        return;
      }
      std::string text = node.text;  // line ends are allowed in it
      std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
      std::optional<std::string> bytes = FromBase64(text);
      if (bytes)
        value = *std::move(bytes);
      else
        report_.Problem(path, out_.kind == DocumentKind::kSecret
                                  ? "Invalid value: it is not base64; write plain text into stringData"
                                  : "Invalid value: it is not base64; write plain text into data");
    });
  }

  void CheckSize() {
    std::size_t bytes = 0;
    for (const auto* values : {&out_.data, &out_.binary})
      for (const auto& [key, value] : *values) bytes += value.size();
    if (bytes > kMaxConfigBytes)
      report_.Problem(object_.PathOf("data"), "Too long: " + std::to_string(bytes) + " bytes in all, at most " +
                                                  std::to_string(kMaxConfigBytes) +
                                                  " may be: make several of it, or use hostPath with a file");
  }

  Object object_;
  Report& report_;
  ConfigDocument out_;
};

}  // namespace

ConfigDocument ReadConfigDocument(const Node& node, const Path& path, DocumentKind kind, Report& report) {
  return DocumentReader(node, path, kind, report).Read();
}

std::string CheckConfigKey(std::string_view key) {
  constexpr std::size_t kLongestKey = 253;
  if (key.empty()) return "Required value: give the key a name";
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '-' || c == '_' || c == '.';
  };
  if (key.size() <= kLongestKey && key != "." && !key.starts_with("..") && std::ranges::all_of(key, good)) return "";
  return InvalidValue(key,
                      "a key must consist of letters, digits, '-', '_' and '.', at most 253, and must not start with "
                      "\"..\"");
}

void ReadDocumentName(Object& object, std::string_view field, DocumentKind kind, std::string& out) {
  object.Read(field, out);
  if (out.empty()) object.report().Problem(object.PathOf(field), "Required value: name a " + std::string(Name(kind)));
}

}  // namespace berth::manifest
