// What supervisors and containers leave in files: records with a checksum, logs of any bytes.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/time_text.h"
#include "runtime/process/log_reader.h"
#include "runtime/process/record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace r = berth::runtime;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto request = r::ParseRequest(text)) {
    const auto again = r::ParseRequest(r::FormatRequest(*request));
    BERTH_CHECK(again && *again == *request);
  }
  if (const auto state = r::ParseState(text)) {
    const auto again = r::ParseState(r::FormatState(*state));
    BERTH_CHECK(again && *again == *state);
  }
  static_cast<void>(r::ParseLogLine(text));
  for (const berth::LogEntry& entry : r::ParseLog(text))
    BERTH_CHECK(entry.stream == "stdout" || entry.stream == "stderr");
  static_cast<void>(berth::ParseTime(text));
  return 0;
}
