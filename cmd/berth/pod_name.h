// Which pod a person means.
#ifndef BERTH_CMD_BERTH_POD_NAME_H_
#define BERTH_CMD_BERTH_POD_NAME_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "berth/session.h"
#include "codec/codec.h"

namespace berth::cli {

/// The pod of `pods` (PodStatus list) that `given` means: NAMESPACE/NAME, NAME in any namespace, either without the
/// "-<node>" at the end that static pods get, or the beginning of exactly one name.
/// Errors: kNotFound with the nearest name, kInvalid listing the candidates when there are several.
Result<codec::Json> PickPod(const codec::Json& pods, std::string_view given, std::string_view node_name);

/// Asks berthd for its pods and picks. Errors: as PickPod and api::Call.
Result<codec::Json> FindPod(const Session& session, const std::string& given);

/// The container of a pod (PodStatus) that is meant: the one asked for, or the only one that is not an init container.
/// Errors: kInvalid, kNotFound with what there is.
Result<std::string> PickContainer(const codec::Json& pod, const std::string& asked);

/// "namespace/name" of a PodStatus.
std::string FullName(const codec::Json& pod);
/// "/v1/<what>/namespace/name" with both encoded.
std::string PodPath(std::string_view what, const codec::Json& pod);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_POD_NAME_H_
