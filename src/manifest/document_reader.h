// Tree -> a ConfigMap or a Secret.
#ifndef BERTH_MANIFEST_DOCUMENT_READER_H_
#define BERTH_MANIFEST_DOCUMENT_READER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "manifest/document_tree.h"
#include "manifest/field_reader.h"
#include "model/document.h"
#include "model/pod.h"

namespace berth::manifest {

/// Bytes of all values of one document together, as Kubernetes bounds them.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20;

/// Problems never quote a value: it may be a secret.
ConfigDocument ReadConfigDocument(const Node& node, const Path& path, DocumentKind kind, Report& report);

/// "" for a good key, else the message without the field path. A good one is the name of one file: letters, digits,
/// '-', '_' and '.', at most 253, neither "." nor starting with "..".
std::string CheckConfigKey(std::string_view key);

/// The name of a ConfigMap or Secret that a pod refers to, a required field. It is only looked up, and never becomes a
/// path, so that any name will do, as for the API server.
void ReadDocumentName(Object& object, std::string_view field, DocumentKind kind, std::string& out);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_DOCUMENT_READER_H_
