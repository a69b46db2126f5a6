#include "config/config_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/problems.h"
#include "base/text.h"

namespace berth::config {

namespace {

using manifest::Document;
using manifest::Documents;
using manifest::Node;
using manifest::Object;
using manifest::ReadDocuments;
using manifest::Report;
using manifest::Warning;

/// At least one. `where`: the file, for messages.
Result<std::vector<Document>> ReadSome(std::string_view text, const std::string& where) {
  Documents documents = ReadDocuments(text);
  if (!documents.errors.empty()) return Fail(Code::kInvalid, where + ": " + Join(documents.errors, "; "));
  if (documents.documents.empty()) return Fail(Code::kInvalid, where + ": the file is empty; remove it or fill it in");
  return std::move(documents.documents);
}

std::string KindOf(const Document& document) {
  const Node* kind = Find(document.root, "kind");
  return kind != nullptr && kind->kind == Node::Kind::kString ? kind->text : "";
}

}  // namespace

Result<Document> ReadOnlyDocument(std::string_view text, std::string_view file) {
  const std::string where = Printable(file, 4096);
  BERTH_TRY(std::vector<Document> documents, ReadSome(text, where));
  if (documents.size() > 1)
    return Fail(Code::kInvalid,
                where + ": holds " + std::to_string(documents.size()) + " documents; a settings file holds one");
  return std::move(documents.front());
}

Result<Document> ReadDocumentOfKind(std::string_view text, std::string_view file, std::string_view kind,
                                    std::vector<Warning>& skipped) {
  const std::string where = Printable(file, 4096);
  BERTH_TRY(std::vector<Document> documents, ReadSome(text, where));
  if (documents.size() == 1) return std::move(documents.front());
  const auto of_kind = std::ranges::count(documents, kind, KindOf);
  if (of_kind != 1)
    return Fail(Code::kInvalid, where + ": holds " + std::to_string(documents.size()) + " documents, of which " +
                                    std::to_string(of_kind) + " say \"kind: " + std::string(kind) +
                                    "\"; leave exactly one of that kind");
  Document out;
  for (Document& document : documents) {
    if (const std::string other = KindOf(document); other != kind)
      skipped.push_back({.where = where + ": document " + std::to_string(document.number),
                         .message = (other.empty() ? "without a kind" : "kind " + Printable(other, 80)) +
                                    ": not read; of this file only the " + std::string(kind) + " counts"});
    else
      out = std::move(document);
  }
  return out;
}

void CheckTypeMeta(Object& object, const TypeMeta& expected, bool required) {
  const auto check = [&](std::string_view field, std::string_view wanted) {
    std::string given;
    object.Read(field, given);
    if (given == wanted || (given.empty() && !required)) return;
    const std::string cure = "write \"" + std::string(field) + ": " + std::string(wanted) + "\"";
    object.report().Problem(object.PathOf(field), given.empty()
                                                      ? "Required value: " + cure
                                                      : "Unsupported value: \"" + Printable(given, 80) + "\": " + cure);
  };
  check("apiVersion", expected.api_version);
  check("kind", expected.kind);
}

std::vector<Warning> WarningsOf(const Report& report, const Document& document, std::string_view file) {
  const std::string where = Printable(file, 4096) + ": ";
  std::vector<Warning> out;
  for (const std::string& path : document.duplicates)
    out.push_back({.where = where + path, .message = "the key is given more than once; the last one counts"});
  for (const Report::Entry& entry : report.warnings)
    out.push_back({.where = where + entry.path, .message = entry.text});
  return out;
}

Result<void> ErrorOf(const Report& report, std::string_view file) {
  if (report.problems.empty()) return {};
  Problems out;
  for (const Report::Entry& entry : report.problems) {
    Error problem = BadSetting(entry.path, entry.text).error();
    if (entry.path.empty()) problem.message = entry.text;
    problem.message.insert(0, Printable(file, 4096) + ": ");
    out.Add(problem);
  }
  return out.Done();
}

std::string ResolveBeside(std::string_view file, const std::string& path) {
  if (path.empty() || path.starts_with('/') || !file.contains('/')) return path;
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

}  // namespace berth::config
