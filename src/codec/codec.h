// Model values as JSON with stable field names (camelCase), for the API, `-o json|yaml` and the ledger file.
#ifndef BERTH_CODEC_CODEC_H_
#define BERTH_CODEC_CODEC_H_

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "model/decision.h"
#include "model/device.h"
#include "model/ledger.h"
#include "model/machine.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::codec {

using Json = nlohmann::ordered_json;

Json ToJson(const Machine& machine);
Json ToJson(const Pod& pod);  ///< as v1.Pod
Json ToJson(const Placement& placement);
Json ToJson(const PodRecord& pod);
Json ToJson(const Ledger& ledger);
Json ToJson(const Decision& decision);
Json ToJson(const Trace& trace);
Json ToJson(const ResourceList& list);

/// Errors: kCorrupt naming the field. Reads what ToJson(Ledger) wrote; unknown fields are ignored.
Result<Ledger> LedgerFromJson(const Json& json);

/// Parses text without throwing. Errors: kInvalid with line and column.
Result<Json> ParseJson(std::string_view text, std::string_view file);

/// The same value as YAML.
std::string ToYaml(const Json& json);

}  // namespace berth::codec

#endif  // BERTH_CODEC_CODEC_H_
