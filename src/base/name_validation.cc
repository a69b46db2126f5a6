#include "base/name_validation.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/text.h"

namespace berth {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestSubdomain = 253;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsLetter(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z'); }

bool IsLabel(std::string_view text) {
  const auto inner = [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; };
  return !text.empty() && text.size() <= kLongestLabel && std::ranges::all_of(text, inner) && text.front() != '-' &&
         text.back() != '-';
}

/// Like a label between the dots, where Kubernetes sets no bound for one part.
bool IsSubdomain(std::string_view text) {
  const auto inner = [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; };
  return text.size() <= kLongestSubdomain && std::ranges::all_of(Split(text, '.'), [&](std::string_view part) {
           return !part.empty() && std::ranges::all_of(part, inner) && part.front() != '-' && part.back() != '-';
         });
}

/// The nearest good name: lower case, everything else a '-', none at the ends.
std::string Cure(std::string_view name, std::size_t longest) {
  std::string out;
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (IsLower(lower) || IsDigit(lower)) {
      out += lower;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
    if (out.size() == longest) break;
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "" : "; rename it, for example to \"" + out + "\"";
}

constexpr std::string_view kNoName = "Required value: give it a name";

std::string TooLong(std::string_view value, std::size_t longest) {
  return value.size() <= longest ? ""
                                 : InvalidValue(value, "must be no more than " + std::to_string(longest) + " bytes");
}

}  // namespace

std::string InvalidValue(std::string_view value, std::string_view why) {
  return "Invalid value: \"" + Printable(value, 80) + "\": " + std::string(why);
}

std::string CheckLabelName(std::string_view name) {
  if (name.empty()) return std::string(kNoName);
  if (std::string too_long = TooLong(name, kLongestLabel); !too_long.empty()) return too_long;
  if (IsLabel(name)) return "";
  return InvalidValue(name,
                      "a lowercase RFC 1123 label must consist of lower case letters, digits and '-', with a letter or "
                      "digit at both ends") +
         Cure(name, kLongestLabel);
}

std::string CheckSubdomainName(std::string_view name) {
  if (name.empty()) return std::string(kNoName);
  if (std::string too_long = TooLong(name, kLongestSubdomain); !too_long.empty()) return too_long;
  if (IsSubdomain(name)) return "";
  return InvalidValue(name,
                      "a lowercase RFC 1123 subdomain must consist of lower case letters, digits, '-' and '.', with a "
                      "letter or digit at both ends and around each '.'") +
         Cure(name, kLongestSubdomain);
}

std::string CheckUid(std::string_view uid) {
  if (uid.empty()) return "Required value: leave it out and Berth makes one";
  if (std::string too_long = TooLong(uid, kLongestLabel); !too_long.empty()) return too_long;
  if (std::ranges::all_of(uid, [](char c) { return IsLetter(c) || IsDigit(c) || c == '-'; })) return "";
  return InvalidValue(uid,
                      "must consist of letters, digits and '-', because it names cgroups and folders; "
                      "leave it out and Berth makes one");
}

bool IsQualifiedName(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || !IsSubdomain(name.substr(0, slash))) return false;
  const std::string_view local = name.substr(slash + 1);
  const auto alnum = [](char c) { return IsLetter(c) || IsDigit(c); };
  const auto inner = [&](char c) { return alnum(c) || c == '-' || c == '_' || c == '.'; };
  return !local.empty() && local.size() <= kLongestLabel && std::ranges::all_of(local, inner) && alnum(local.front()) &&
         alnum(local.back());
}

std::string CheckEnvName(std::string_view name) {
  if (name.empty()) return std::string(kNoName);
  if (std::ranges::all_of(name, [](char c) { return c >= 0x20 && c <= 0x7e && c != '='; })) return "";
  return InvalidValue(name, "must consist of printable ASCII characters other than '='");
}

bool IsIpAddress(const std::string& text) {
  in6_addr address{};
  return ::inet_pton(AF_INET, text.c_str(), &address) == 1 || ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace berth
