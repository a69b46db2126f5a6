// Any text is a manifest or an error: no crash, no endless work, and what was accepted stays accepted.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/berth_config.h"
#include "config/kubelet_reader.h"
#include "manifest/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace c = berth::config;
  namespace m = berth::manifest;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto parsed = m::ParsePods(text, "fuzz")) {
    for (berth::Pod pod : parsed->pods) {
      BERTH_CHECK(m::ValidatePod(pod).empty());
      const berth::Pod before = pod;
      m::ApplyDefaults(pod);
      BERTH_CHECK(pod == before);
      static_cast<void>(berth::QosOf(pod));
      static_cast<void>(berth::PodRequests(pod));
      static_cast<void>(berth::PodLimits(pod));
    }
  } else {
    BERTH_CHECK(!parsed.error().message.empty());
  }
  static_cast<void>(m::ParsePodJson(text, "fuzz"));
  static_cast<void>(c::ParseKubeletConfiguration(text, "fuzz"));
  static_cast<void>(c::ParseKubeletConfigurationFields(text, "fuzz"));
  static_cast<void>(c::ParseBerthConfiguration(text, "fuzz"));
  return 0;
}
