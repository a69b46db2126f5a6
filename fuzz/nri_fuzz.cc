// Messages of a runtime to its plug-in: read or refused, and never a number that is no event or state.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rpc/nri/nri_messages.h"
#include "rpc/nri/versions.h"

namespace {

namespace n = berth::nri;

void Look(const berth::Result<n::Subject>& subject) {
  if (!subject) return;
  BERTH_CHECK(subject->event <= n::Event::kValidateAdjustment);
  BERTH_CHECK(!subject->container || subject->container->state <= n::ContainerState::kStopped);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);  // it has a line for each that is no text
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto runtime = n::DecodeConfigure(bytes)) {
    const std::uint32_t known = n::KnownEvents(*runtime);
    BERTH_CHECK(known == 0x7FF || known == 0x3FFF);
    BERTH_CHECK(n::AnswerTime(*runtime).count() > 0);
  }
  static_cast<void>(n::DecodeSynchronize(bytes));
  Look(n::DecodeSubject(bytes));
  Look(n::DecodeUpdatePod(bytes));
  Look(n::DecodeStateChange(bytes));
  return 0;
}
