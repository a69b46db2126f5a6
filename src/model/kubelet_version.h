// The kubelet versions whose rules and file formats Berth knows.
#ifndef BERTH_MODEL_KUBELET_VERSION_H_
#define BERTH_MODEL_KUBELET_VERSION_H_

#include <array>
#include <string_view>

#include "base/result.h"

namespace berth {

/// Oldest first: a version compares less than those after it.
enum class KubeletVersion { k1_36, k1_37, k1_38 };
inline constexpr std::array kKubeletVersions = {KubeletVersion::k1_36, KubeletVersion::k1_37, KubeletVersion::k1_38};
/// That of a node where neither settings nor a kubelet tell another one: the newest that is released.
inline constexpr KubeletVersion kDefaultKubeletVersion = KubeletVersion::k1_37;

std::string_view Name(KubeletVersion version);  ///< "1.36", ...

/// Reads what Name gives. Errors: kInvalid naming the versions there are.
Result<KubeletVersion> ParseKubeletVersion(std::string_view text);

}  // namespace berth

#endif  // BERTH_MODEL_KUBELET_VERSION_H_
