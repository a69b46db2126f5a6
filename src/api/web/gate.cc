#include "api/web/gate.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>

#include "api/local_api/routes.h"
#include "base/text.h"
#include "host/os/input.h"

namespace berth::web {
namespace {

constexpr std::string_view kCookie = "berth_session";
constexpr std::size_t kSessionBytes = 32;

/// nullptr: the header was not sent.
const std::string* HeaderOf(const http::Request& request, const char* name) {
  const auto it = request.headers.find(name);
  return it == request.headers.end() ? nullptr : &it->second;
}

http::Answer Refused(int status, std::string why) {
  http::Answer out = api::AnswerOf({Code::kPermission, 0, std::move(why)});
  out.status = status;
  return out;
}

/// "localhost:9960" without its port, "[::1]:9960" likewise.
std::string_view NameIn(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

bool IsThisHost(std::string_view name) {
  if (name == "localhost" || name == "[::1]") return true;
  return name.starts_with("127.") && std::ranges::all_of(name, [](char c) { return IsDigit(c) || c == '.'; });
}

/// "" when the system has none to give.
std::string RandomId() {
  std::array<unsigned char, kSessionBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

/// The session's id among the cookies; "": none.
std::string_view SessionIn(const http::Request& request) {
  const std::string* const cookies = HeaderOf(request, "cookie");
  if (cookies == nullptr) return "";
  for (std::string_view cookie : Split(*cookies, ';')) {
    cookie = Trim(cookie);
    if (cookie.starts_with(kCookie) && cookie.substr(kCookie.size()).starts_with('='))
      return cookie.substr(kCookie.size() + 1);
  }
  return "";
}

}  // namespace

Result<std::string> ReadToken(const std::string& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) return FailErrno("read the token in", file, errno);
  if ((info.st_mode & S_IRWXO) != 0)
    return Fail(Code::kInvalid, file + " can be read by everybody; 'chmod o= " + file + "' keeps the token a secret");
  BERTH_TRY(const std::string text, os::ReadInput(file));
  std::string token(Trim(text));
  const bool visible = std::ranges::all_of(token, [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (token.size() < kShortestToken || !visible)
    return Fail(Code::kInvalid, file + " must hold one word of at least " + std::to_string(kShortestToken) +
                                    " characters, as 'openssl rand -hex 16' prints one");
  return token;
}

bool SameSecret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  return difference == 0;
}

std::optional<http::Answer> Gate::RefuseFile(const http::Request& request) const {
  const std::string* const host = HeaderOf(request, "host");
  if (host != nullptr && (!options_.this_host_only || IsThisHost(NameIn(*host)))) return std::nullopt;
  return Refused(403, "this page is served to this host alone: ask for it as http://localhost with the port");
}

std::optional<http::Answer> Gate::RefuseStranger(const http::Request& request) const {
  if (auto refused = RefuseFile(request)) return refused;
  const std::string* const site = HeaderOf(request, "sec-fetch-site");
  const std::string* const origin = HeaderOf(request, "origin");
  const std::string own = (options_.tls ? "https://" : "http://") + *HeaderOf(request, "host");
  const bool foreign =
      (site != nullptr && *site != "same-origin" && *site != "none") || (origin != nullptr && *origin != own);
  if (foreign) return Refused(403, "another page asks for this: only the page itself may");
  return std::nullopt;
}

bool Gate::Knows(const http::Request& request) const {
  constexpr std::string_view kBearer = "Bearer ";
  if (const std::string* const given = HeaderOf(request, "authorization"))
    return given->starts_with(kBearer) && SameSecret(std::string_view(*given).substr(kBearer.size()), options_.token);
  const std::string_view id = SessionIn(request);
  if (id.empty()) return false;
  const os::MonoTime now = clock_.Now();
  bool known = false;
  const MutexLock lock(mutex_);
  for (const Session& session : sessions_) known = (SameSecret(id, session.id) && now < session.ends) || known;
  return known;
}

std::optional<http::Answer> Gate::Refuse(const http::Request& request) const {
  if (auto refused = RefuseStranger(request)) return refused;
  if (!asks() || Knows(request)) return std::nullopt;
  return Refused(401, "the page's token is asked for: log in, or send 'Authorization: Bearer TOKEN'");
}

std::string Gate::Cookie(std::string_view value, std::string_view age) const {
  std::string out(kCookie);
  out.append("=").append(value).append("; Max-Age=").append(age).append("; Path=/; HttpOnly; SameSite=Strict");
  if (options_.tls) out += "; Secure";
  return out;
}

http::Answer Gate::Login(const http::Request& request) {
  if (auto refused = RefuseStranger(request)) return *std::move(refused);
  if (!asks() || !SameSecret(Trim(request.body), options_.token)) return Refused(401, "that is not the token");
  std::string id = RandomId();
  if (id.empty()) return api::AnswerOf({Code::kIo, 0, "the system gives no random numbers"});
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(kSessionTime).count();
  http::Answer out{.body = "{}\n", .headers = {{"Set-Cookie", Cookie(id, std::to_string(age))}}};
  const MutexLock lock(mutex_);
  if (sessions_.size() >= kMostSessions) sessions_.pop_front();
  sessions_.push_back({std::move(id), clock_.Now() + kSessionTime});
  return out;
}

http::Answer Gate::Logout(const http::Request& request) {
  if (auto refused = RefuseStranger(request)) return *std::move(refused);
  const std::string_view id = SessionIn(request);
  const MutexLock lock(mutex_);
  std::erase_if(sessions_, [&](const Session& session) { return SameSecret(id, session.id); });
  return {.body = "{}\n", .headers = {{"Set-Cookie", Cookie("", "0")}}};
}

}  // namespace berth::web
