// Field support table of v1.Pod (Kubernetes 1.36): each field's treatment under each runtime. The only such table.
#ifndef BERTH_MANIFEST_FIELD_TABLE_H_
#define BERTH_MANIFEST_FIELD_TABLE_H_

#include <span>
#include <string_view>

#include "manifest/pod_options.h"

namespace berth::manifest {

enum class FieldVerdict {
  kCarriedOut,
  kForOthers,  ///< shown, or meant for somebody else: nothing of the pod depends on it here
  kNoEffect,   ///< the pod runs without it, with a warning
  kRefused,    ///< the pod would be something else without it (less isolated, without its data): it is not taken
};
std::string_view Name(FieldVerdict verdict);  ///< "carried out", "for others", "no effect", "refused"

struct FieldTreatment {
  FieldVerdict verdict = FieldVerdict::kCarriedOut;
  std::string_view why = {};   ///< of kNoEffect and kRefused
  std::string_view cure = {};  ///< of kRefused: in place of leaving it out
  bool of_devices = false;     ///< the cure is a resource of the node's devices: where they are known they are named
};

struct FieldRow {
  /// "spec.containers[].tty": of this field, and of all below it that has no row of its own. Init containers have the
  /// rows of containers.
  std::string_view path;
  /// "A|B": values that are as good as carried out, whatever the verdict: the default, or what is so anyway. "" (and
  /// null, [] and {}) always is, but for {} as a volume's source.
  std::string_view fine;
  FieldTreatment process;
  FieldTreatment cri;

  /// Requires: run_by is not kNobody.
  const FieldTreatment& Under(RunBy run_by) const { return run_by == RunBy::kProcess ? process : cri; }
};

/// Sorted by path.
std::span<const FieldRow> FieldTable();

/// The row of a field ("spec.initContainers[].tty"): its own, or that of the nearest field above it that has one;
/// nullptr: there is none.
const FieldRow* RowOf(std::string_view path);

/// Whether some row is below the field.
bool HasRowsBelow(std::string_view path);

/// Whether `value` is among the row's fine ones.
bool IsFine(const FieldRow& row, std::string_view value);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_FIELD_TABLE_H_
