// The shapes of names Kubernetes knows, each with a message that says what is allowed and a cure.
#ifndef BERTH_BASE_NAME_VALIDATION_H_
#define BERTH_BASE_NAME_VALIDATION_H_

#include <string>
#include <string_view>

namespace berth {

/// `Invalid value: "A": why`, as Kubernetes words it.
std::string InvalidValue(std::string_view value, std::string_view why);

/// Each returns "" for a good name, else the message without the field path: `Invalid value: "A": a lowercase RFC 1123
/// label must consist of ...`. An empty name gives "Required value".
std::string CheckLabelName(std::string_view name);      ///< RFC 1123 label, <= 63: containers, namespaces
std::string CheckSubdomainName(std::string_view name);  ///< RFC 1123 subdomain, <= 253: pods
/// Letters, digits and '-', <= 63 bytes: it becomes part of paths.
std::string CheckUid(std::string_view uid);
/// "vendor.example/gpu": subdomain, '/', then letters, digits, '-', '_', '.' up to 63.
bool IsQualifiedName(std::string_view name);
/// Printable ASCII without '='.
std::string CheckEnvName(std::string_view name);

/// An address of either family as people write it: "10.0.0.1", "fd00::1".
bool IsIpAddress(const std::string& text);

}  // namespace berth

#endif  // BERTH_BASE_NAME_VALIDATION_H_
