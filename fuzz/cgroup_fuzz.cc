// Text of the kernel's cgroup files and of mountinfo, as anybody might have written it: no crash, and values survive a
// round trip. The first byte chooses the parser.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/id_set.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/control_files.h"

namespace {

using namespace berth;
using namespace berth::cgroup;

void CheckCpuMax(std::string_view text) {
  const auto value = ParseCpuMax(text);
  if (!value) return;
  const auto again = ParseCpuMax(FormatCpuMax(*value));
  BERTH_CHECK(again && *again == *value);
}

void CheckLimit(std::string_view text) {
  const auto value = ParseLimit(text);
  if (!value) return;
  for (const bool v2 : {false, true}) {
    const auto again = ParseLimit(FormatLimit(*value, v2));
    BERTH_CHECK(again && *again == *value);
  }
}

void CheckPidsMax(std::string_view text) {
  const auto value = ParsePidsMax(text);
  if (!value || *value == 0) return;
  const auto again = ParsePidsMax(FormatPidsMax(*value));
  BERTH_CHECK(again && *again == *value);
}

void CheckSet(std::string_view text) {
  const auto value = CpuSet::Parse(text);
  if (!value) return;
  const auto again = CpuSet::Parse(FormatIds(*value));
  BERTH_CHECK(again && *again == *value);
}

void CheckPids(std::string_view text) {
  const auto pids = ParsePids(text);
  if (!pids) return;
  for (std::size_t i = 0; i < pids->size(); ++i) BERTH_CHECK((*pids)[i] > 0 && (i == 0 || (*pids)[i - 1] < (*pids)[i]));
}

void CheckLayout(std::string_view text) {
  const std::size_t cut = text.find('\0');
  const auto layout = ParseLayout(text.substr(0, cut), cut == std::string_view::npos ? "" : text.substr(cut + 1));
  if (!layout) return;
  BERTH_CHECK(!layout->controllers.empty() && layout->controllers.front().controller == "cpuset");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(data + 1, data + size);
  switch (data[0] % 7) {
    case 0: CheckCpuMax(text); break;
    case 1: CheckLimit(text); break;
    case 2: CheckPidsMax(text); break;
    case 3: CheckSet(text); break;
    case 4: CheckPids(text); break;
    case 5:
      if (const auto size_of = ParseHugePageDir(text)) BERTH_CHECK(!HugePageName(*size_of).empty());
      break;
    default: CheckLayout(text); break;
  }
  return 0;
}
