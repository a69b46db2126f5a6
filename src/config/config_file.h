// Common reader of the two settings files: one document, its apiVersion and kind, messages, paths.
#ifndef BERTH_CONFIG_CONFIG_FILE_H_
#define BERTH_CONFIG_CONFIG_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "manifest/field_reader.h"
#include "manifest/warning.h"

namespace berth::config {

/// The only document of a settings file. Errors: kInvalid: unreadable, none, more than one.
Result<manifest::Document> ReadOnlyDocument(std::string_view text, std::string_view file);

/// The document of `kind` among those of a file (kubeadm writes several kinds into one); the only document whatever it
/// says of itself. The others go to `skipped`, each named. Errors: kInvalid: unreadable, empty, none or several of the
/// kind.
Result<manifest::Document> ReadDocumentOfKind(std::string_view text, std::string_view file, std::string_view kind,
                                              std::vector<manifest::Warning>& skipped);

struct TypeMeta {
  std::string_view api_version;
  std::string_view kind;
};

/// Reads apiVersion and kind. `required`: absent is a problem; given but different always is.
void CheckTypeMeta(manifest::Object& object, const TypeMeta& expected, bool required);

/// The report's warnings with `file` in front; duplicate keys are warnings too.
std::vector<manifest::Warning> WarningsOf(const manifest::Report& report, const manifest::Document& document,
                                          std::string_view file);

/// All problems of a report as one error, one a line with `file` in front; success if there are none.
Result<void> ErrorOf(const manifest::Report& report, std::string_view file);

/// `path` itself if absolute or empty, else as the folder of `file` sees it.
std::string ResolveBeside(std::string_view file, const std::string& path);

}  // namespace berth::config

#endif  // BERTH_CONFIG_CONFIG_FILE_H_
