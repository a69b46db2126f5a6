#include "rpc/nri/launch.h"

#include "base/text.h"

namespace berth::nri {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kOfNames = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-";

}  // namespace

Result<void> CheckIdentity(const std::string& name, const std::string& index) {
  if (name.empty() || name.find_first_not_of(kOfNames) != std::string::npos)
    return Fail(Code::kInvalid, "the name of a plug-in has letters, digits and _.+- only, not " + Printable(name));
  if (index.size() != 2 || index.find_first_not_of(kDigits) != std::string::npos)
    return Fail(Code::kInvalid, "the index of a plug-in is two digits, not " + Printable(index));
  return {};
}

Result<std::optional<Launch>> FindLaunch(const std::function<const char*(const char*)>& variable) {
  const char* const socket = variable("NRI_PLUGIN_SOCKET");
  if (socket == nullptr) return std::nullopt;
  const auto text = [&](const char* name) {
    const char* const value = variable(name);
    return std::string(value == nullptr ? "" : value);
  };
  const auto descriptor = ParseDecimal<int>(socket);
  if (!descriptor || *descriptor < 0)
    return Fail(Code::kInvalid, "NRI_PLUGIN_SOCKET is no descriptor: " + Printable(socket));
  Launch out{.name = text("NRI_PLUGIN_NAME"), .index = text("NRI_PLUGIN_IDX"), .socket = *descriptor};
  BERTH_RETURN_IF_ERROR(CheckIdentity(out.name, out.index));
  return out;
}

}  // namespace berth::nri
