#include "manifest/config_file.h"

#include "base/text.h"

namespace berth::manifest {

Result<Document> ReadOnlyDocument(std::string_view text, std::string_view file) {
  Documents documents = ReadDocuments(text);
  const std::string where = Printable(file, 4096);
  if (!documents.errors.empty()) return Fail(Code::kInvalid, where + ": " + Join(documents.errors, "; "));
  if (documents.documents.empty()) return Fail(Code::kInvalid, where + ": the file is empty; remove it or fill it in");
  if (documents.documents.size() > 1)
    return Fail(Code::kInvalid, where + ": holds " + std::to_string(documents.documents.size()) +
                                    " documents; a settings file holds one");
  return std::move(documents.documents.front());
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
  std::vector<std::string> lines;
  for (const Report::Entry& entry : report.problems)
    lines.push_back(Printable(file, 4096) + ": " + (entry.path.empty() ? "" : entry.path + ": ") + entry.text);
  return Fail(Code::kInvalid, Join(lines, "\n"));
}

std::string ResolveBeside(std::string_view file, const std::string& path) {
  const std::size_t slash = file.rfind('/');
  if (path.empty() || path.starts_with('/') || slash == std::string_view::npos) return path;
  return std::string(file.substr(0, slash + 1)) + path;
}

}  // namespace berth::manifest
