// Static pod naming and identity (rules/sources#static-pods).
#ifndef BERTH_FRONTEND_POD_SOURCES_STATIC_POD_H_
#define BERTH_FRONTEND_POD_SOURCES_STATIC_POD_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "model/document.h"
#include "model/pod.h"

namespace berth::pod_sources {

/// Name becomes "<name>-<lower(node)>", nodeName the node, the annotations kubernetes.io/config.hash and .source are
/// set, and an empty uid becomes a 128-bit hash (32 hex digits) of the pod, the node and `origin` ("file:/path"): the
/// same pod in the same place keeps its uid over restarts, any change of the pod makes a new one.
/// The hash is FNV-1a over Berth's own JSON of the pod, so uids differ from the kubelet's (docs/differences.md).
void MakeStatic(Pod& pod, std::string_view node_name, std::string_view origin, std::string_view source);

/// What is wrong with the length of the pod's name here: on the node it is "<name>-<node>", of at most
/// 253 bytes, and its log folder "<namespace>_<name>-<node>_<uid>", of at most 255, as any file name. "": it fits.
/// `pod`: as it was read, before MakeStatic.
std::string NameLengthProblem(const Pod& pod, std::string_view node_name);

/// What two versions of a manifest have in common when one is a resize of the other (model/resize_changes.h): 32 hex
/// digits of the static pod without its amounts, and without its uid unless that was given: another one is another pod.
std::string IdentityOf(const Pod& pod);

/// Bytes that the pod takes for as long as it is held, about, and rather more: its text, and what each value and each
/// container takes beside, counted as manifest::kMaxDocumentCost counts.
std::size_t BytesOf(const Pod& pod);
/// The same of a document.
std::size_t BytesOf(const ConfigDocument& document);

}  // namespace berth::pod_sources

#endif  // BERTH_FRONTEND_POD_SOURCES_STATIC_POD_H_
