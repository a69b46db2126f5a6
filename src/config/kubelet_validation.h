// The rules a kubelet holds its configuration file to (rules/sources#settings).
#ifndef BERTH_CONFIG_KUBELET_VALIDATION_H_
#define BERTH_CONFIG_KUBELET_VALIDATION_H_

#include "manifest/field_reader.h"
#include "model/kubelet_config.h"
#include "model/kubelet_version.h"

namespace berth::config {

/// As a kubelet of that version. Requires: defaults are in place. Problems carry the field's path.
void CheckKubeletConfiguration(const KubeletConfiguration& config, KubeletVersion version, manifest::Report& report);

}  // namespace berth::config

#endif  // BERTH_CONFIG_KUBELET_VALIDATION_H_
