// The rules a kubelet holds its configuration file to (rules/sources#settings).
#ifndef BERTH_MANIFEST_KUBELET_VALIDATION_H_
#define BERTH_MANIFEST_KUBELET_VALIDATION_H_

#include "manifest/field_reader.h"
#include "model/kubelet_config.h"

namespace berth::manifest {

/// Requires: defaults are in place. Problems carry the field's path.
void CheckKubeletConfiguration(const KubeletConfiguration& config, Report& report);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_KUBELET_VALIDATION_H_
