// Model values as JSON with stable field names (camelCase), for the API, `-o json|yaml` and the ledger file.
//
// Sets of CPUs and nodes are strings in the kernel's list format ("0-3,8"), amounts of memory are integers in bytes,
// quantities of resource lists are strings ("1500m"). A field that has no value is null, not missing.
#ifndef BERTH_API_CODEC_CODEC_H_
#define BERTH_API_CODEC_CODEC_H_

#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/decision.h"
#include "model/device.h"
#include "model/document.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::codec {

using Json = nlohmann::ordered_json;

Json ToJson(const Machine& machine);
Json ToJson(const Pod& pod);                  ///< as v1.Pod
Json ToJson(const ConfigDocument& document);  ///< as v1.ConfigMap, v1.Secret: with its content, for files only
Json ToJson(const TopologyHint& hint);
Json ToJson(const Placement& placement);
Json ToJson(const PodRecord& pod);
Json ToJson(const Ledger& ledger);
Json ToJson(const Decision& decision);  ///< {"admitted":true,"pod":…} or {"admitted":false,"reason":…}
Json ToJson(const Trace& trace);
Json ToJson(const ResourceList& list);

/// Errors: kCorrupt naming the field. Reads what ToJson(Ledger) wrote; unknown fields are ignored.
Result<Ledger> LedgerFromJson(const Json& json);

/// Errors: kInvalid naming the field. Reads what ToJson(Machine) wrote; unknown fields are ignored.
Result<Machine> MachineFromJson(const Json& json);

/// Parses text without throwing. Errors: kInvalid with file, line and column for bad syntax, bytes that are not UTF-8
/// and more than kMaxDepth levels or `most_values` values; kInvalid naming the key when an object has it twice.
Result<Json> ParseJson(std::string_view text, std::string_view file,
                       std::size_t most_values = std::numeric_limits<std::size_t>::max());
inline constexpr int kMaxDepth = 256;

/// JSON text; never throws: bytes that are not UTF-8 become U+FFFD. `indent` < 0: one line.
std::string FormatJson(const Json& json, int indent = -1);

/// The same value as YAML, ending in a newline. Strings that other readers could take for a number, a boolean, a date
/// or null are quoted.
std::string ToYaml(const Json& json);

}  // namespace berth::codec

#endif  // BERTH_API_CODEC_CODEC_H_
