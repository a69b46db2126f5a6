#include "model/kubelet_version.h"

#include <cstddef>
#include <string>

#include "base/text.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, kKubeletVersions.size()> kKubeletVersionNames = {"1.36", "1.37", "1.38"};

}  // namespace

std::string_view Name(KubeletVersion version) { return kKubeletVersionNames.at(static_cast<std::size_t>(version)); }

Result<KubeletVersion> ParseKubeletVersion(std::string_view text) {
  std::string names;
  for (const KubeletVersion version : kKubeletVersions) {
    if (Name(version) == text) return version;
    names += (names.empty() ? "" : ", ") + std::string(Name(version));
  }
  return Fail(Code::kInvalid, "\"" + Printable(text, 40) + "\" is no kubelet version known here; give one of " + names);
}

}  // namespace berth
