// Manifests: YAML or JSON text -> model values, with messages a user of kubectl expects.
#ifndef BERTH_MANIFEST_MANIFEST_H_
#define BERTH_MANIFEST_MANIFEST_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "manifest/pod_options.h"
#include "manifest/warning.h"
#include "model/document.h"
#include "model/pod.h"

namespace berth::manifest {

struct ParsedPods {
  std::vector<Pod> pods;
  std::vector<ConfigDocument> documents;  ///< ConfigMaps and Secrets beside them
  std::vector<Warning> warnings;
  /// What the pods were made of: of templates, or with made names. Warnings to whoever has them run, and to nobody who
  /// only wants to know which they are.
  std::vector<Warning> made;
  bool has_templates = false;  ///< pods were made of templates (PodOptions::templates): none, where they say so
  /// PersistentVolumes and claims of the text, as JSON, one document after another. They are in no pod as such: a
  /// volume persistentVolumeClaim that one of them answers is a hostPath.
  std::string storage;
  bool mounts_claims = false;         ///< some pod does: what it is depends on the storage beside the text
  std::size_t unanswered_claims = 0;  ///< those that pods mount and that have no volume
};

/// A text, and what is wrong with it.
struct Reading {
  ParsedPods found;                   ///< pods, documents and what is made: of documents without problems only
  std::vector<std::string> problems;  ///< file, document, field path, what is wrong and the cure
};

/// One or more documents (YAML "---", or JSON), each a v1.Pod, v1.ConfigMap, v1.Secret, v1.PersistentVolume,
/// v1.PersistentVolumeClaim or a list of these. Defaults are
/// applied and every pod is validated. `file` is only used in messages. Documents count from 1, empty ones not at all.
/// What is held meanwhile is bounded, whatever the text says (Budget of document_tree.h; options.most_pods; 1000
/// documents). Errors: kInvalid with all problems found, one a line: file, document, field path, what is wrong and the
/// cure.
Result<ParsedPods> ParsePods(std::string_view text, std::string_view file, const PodOptions& options = {});

/// The same, with what is fine of a text that has problems.
Reading ReadManifest(std::string_view text, std::string_view file, const PodOptions& options = {});

/// One v1.Pod as JSON, for recorded cases: apiVersion and kind may be absent, unknown fields are ignored, defaults are
/// applied. Only what decisions rest on is checked: types, container names, no negative amounts. `where` is used in
/// messages instead of file and document. Errors: kInvalid as above.
Result<Pod> ParsePodJson(std::string_view json, std::string_view where);

/// API defaults in place (rules/sources#defaults): limits become requests, restart policy,
/// grace period, image pull policy, pod-level requests and hugepage limits. Idempotent.
void ApplyDefaults(Pod& pod);

/// Problems of one pod with defaults in place, field path first ("spec.containers[1].name: Duplicate value: \"a\"");
/// empty: fine. An empty uid is fine: the source makes one.
std::vector<std::string> ValidatePod(const Pod& pod);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_MANIFEST_H_
