#include "rpc/http/http_client.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "rpc/http/curl_library.h"

namespace berth::http {
namespace {

/// Requires: MakeClient found it.
const CurlLibrary& Curl() { return *FindCurl(); }

constexpr curl_off_t kLongestRetryAfter = 86'400;  // s; what is beyond is nonsense
constexpr long kKeepAlive = 15;      // s without a word, and between questions: the kernel asks nine times
constexpr int kLongestWait = 1'000;  // ms; looks whether the other side still does something

struct EasyEnd {
  void operator()(CURL* easy) const { Curl().easy_cleanup(easy); }
};
struct MultiEnd {
  void operator()(CURLM* multi) const { Curl().multi_cleanup(multi); }
};
struct ListEnd {
  void operator()(curl_slist* list) const { Curl().slist_free_all(list); }
};
using Easy = std::unique_ptr<CURL, EasyEnd>;
using Multi = std::unique_ptr<CURLM, MultiEnd>;
using Lines = std::unique_ptr<curl_slist, ListEnd>;

/// What has come of one answer.
struct Coming {
  CURL* easy = nullptr;
  std::size_t max_body = 0;
  std::size_t header_bytes = 0;
  std::string body;
  bool header_complete = false;
  bool header_too_large = false;
  bool body_too_large = false;
  bool cut_body = false;
  bool enough = false;  // of a refusal, or of a body that may be cut, or as who takes the pieces says
  const std::function<bool(std::string_view)>* on_piece = nullptr;
  std::uint64_t steps = 0;

  int Status() const {
    long status = 0;
    Curl().easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return static_cast<int>(status);
  }
  bool Succeeds() const { return Status() >= 200 && Status() < 300; }
};

std::size_t TakeHeaderLine(const char* bytes, std::size_t /*one*/, std::size_t size, void* to) {
  auto& coming = *static_cast<Coming*>(to);
  ++coming.steps;
  const std::string_view line(bytes, size);
  if (line.starts_with("HTTP/")) coming.header_complete = false;
  coming.header_bytes += size;
  coming.header_too_large = coming.header_bytes > kMostHeaderBytes;
  if (coming.header_too_large) return 0;
  if (!Trim(line).empty() || std::exchange(coming.header_complete, true)) return size;
  if (coming.on_piece == nullptr || !coming.Succeeds()) return size;
  coming.enough = !(*coming.on_piece)({});
  return coming.enough ? 0 : size;
}

std::size_t TakeBody(const char* data, std::size_t /*one*/, std::size_t size, void* to) {
  auto& coming = *static_cast<Coming*>(to);
  ++coming.steps;
  const bool success = coming.Succeeds();
  if (success && coming.on_piece != nullptr) {
    coming.enough = !(*coming.on_piece)({data, size});
    return coming.enough ? 0 : size;
  }
  const std::size_t most = success || coming.cut_body ? coming.max_body : kMostOfARefusal;
  if (coming.body.size() + size <= most) {
    coming.body.append(data, size);
    return size;
  }
  if (coming.cut_body) coming.body.append(data, most - std::min(most, coming.body.size()));
  (success && !coming.cut_body ? coming.body_too_large : coming.enough) = true;
  return 0;
}

Code CodeOf(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return Code::kInvalid;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION: return Code::kUnreachable;
    case CURLE_OPERATION_TIMEDOUT: return Code::kTimeout;
    case CURLE_ABORTED_BY_CALLBACK: return Code::kCancelled;
    default: return Code::kUncertain;
  }
}

/// A header line as curl wants it: one without a value would be left out otherwise.
std::string Line(const std::string& name, const std::string& value) {
  return Trim(value).empty() ? name + ";" : name + ": " + value;
}

bool HasBody(const ClientRequest& request) {
  if (request.method == "DELETE") return !request.body.empty();
  return request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
}

Lines MakeLines(const ClientRequest& request) {
  Lines lines;
  const auto add = [&](const std::string& line) {
    if (lines == nullptr)
      lines.reset(Curl().slist_append(nullptr, line.c_str()));
    else
      Curl().slist_append(lines.get(), line.c_str());  // the same list, longer
  };
  add("Connection: close");
  for (const auto& [name, value] : request.headers) add(Line(name, value));
  if (HasBody(request)) add("Expect:");  // nobody waits for leave to send its body
  return lines;
}

class CurlClient final : public Client {
 public:
  explicit CurlClient(Multi multi) : multi_(std::move(multi)) {}

  Result<ClientAnswer> Send(const ClientRequest& request) override {
    stopped_ = false;
    // A new one each time: 7.88 forgets to forget the last header of the answer before, and an answer that begins with
    // a folded line writes there.
    easy_.reset(Curl().easy_init());
    if (easy_ == nullptr) return Fail(Code::kIo, "the HTTP library cannot be readied");
    Result<ClientAnswer> answer = Ask(request);
    easy_.reset();
    return answer;
  }

  void Stop() override {
    stopped_ = true;
    Curl().multi_wakeup(multi_.get());
  }

 private:
  Result<ClientAnswer> Ask(const ClientRequest& request) {
    Coming coming{.easy = easy_.get(),
                  .max_body = request.max_body,
                  .body = {},
                  .cut_body = request.cut_body,
                  .on_piece = request.on_piece ? &request.on_piece : nullptr};
    const Lines lines = MakeLines(request);
    std::array<char, CURL_ERROR_SIZE> words{};
    const Lines detour(request.connect_to.empty() ? nullptr
                                                  : Curl().slist_append(nullptr, ("::" + request.connect_to).c_str()));
    Prepare(request, lines.get(), coming, words.data());
    if (detour != nullptr) Set(CURLOPT_CONNECT_TO, detour.get());
    CURLcode code = CURLE_FAILED_INIT;
    if (Curl().multi_add_handle(multi_.get(), easy_.get()) == CURLM_OK) {
      code = Drive(request, coming);
      Curl().multi_remove_handle(multi_.get(), easy_.get());
    }
    if (coming.header_too_large || (code == CURLE_OUT_OF_MEMORY && coming.body.empty()))
      return Fail(Code::kUncertain, "the answer's headers are larger than 32 KiB");
    if (coming.body_too_large)
      return Fail(Code::kUncertain, "the answer is larger than " + std::to_string(request.max_body >> 20) + " MiB");
    if (code != CURLE_OK && !coming.enough) return Fail(CodeOf(code), Why(code, words.data()));
    // Curl takes an answer that ends there for one with an empty body, which would mean "no pods".
    if (!coming.header_complete) return Fail(Code::kUncertain, "the answer ends within its headers");
    const char* redirect = nullptr;
    Curl().easy_getinfo(easy_.get(), CURLINFO_REDIRECT_URL, &redirect);
    curl_off_t retry_after = 0;
    Curl().easy_getinfo(easy_.get(), CURLINFO_RETRY_AFTER, &retry_after);
    ClientAnswer answer{
        .status = coming.Status(), .body = std::move(coming.body), .redirect = redirect == nullptr ? "" : redirect};
    if (retry_after > 0) answer.retry_after = std::chrono::seconds(std::min(retry_after, kLongestRetryAfter));
    return answer;
  }

  /// What curl_easy_setopt takes depends on the option: nothing here can fail but for want of memory, which Send meets
  /// again.
  template <class T>
  void Set(CURLoption option, T value) {
    Curl().easy_setopt(easy_.get(), option, value);
  }

  void Prepare(const ClientRequest& request, curl_slist* lines, Coming& coming, char* words) {
    Set(CURLOPT_URL, request.url.c_str());
    Set(CURLOPT_PATH_AS_IS, 1L);
    Set(CURLOPT_PROTOCOLS_STR, "http,https");
    Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    Set(CURLOPT_PROXY, request.proxy.c_str());
    // The environment takes nobody off it, and what it says of itself is not the server's answer.
    Set(CURLOPT_NOPROXY, "");
    Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    Set(CURLOPT_TCP_KEEPALIVE, 1L);  // one who waits for news hears that the other side is gone
    Set(CURLOPT_TCP_KEEPIDLE, kKeepAlive);
    Set(CURLOPT_TCP_KEEPINTVL, kKeepAlive);
    Set(CURLOPT_FOLLOWLOCATION, 0L);
    Set(CURLOPT_FORBID_REUSE, 1L);
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_QUICK_EXIT, 1L);  // a name server that is silent holds up nobody's end
    Set(CURLOPT_HTTPHEADER, lines);
    Set(CURLOPT_HEADERFUNCTION, &TakeHeaderLine);
    Set(CURLOPT_HEADERDATA, static_cast<void*>(&coming));
    Set(CURLOPT_WRITEFUNCTION, &TakeBody);
    Set(CURLOPT_WRITEDATA, static_cast<void*>(&coming));
    Set(CURLOPT_ERRORBUFFER, words);
    if (!request.verify) {
      Set(CURLOPT_SSL_VERIFYPEER, 0L);
      Set(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (!request.unix_socket.empty()) Set(CURLOPT_UNIX_SOCKET_PATH, request.unix_socket.c_str());
    if (HasBody(request)) {
      Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      Set(CURLOPT_POSTFIELDS, request.body.data());
    }
    if (request.method != "GET" && request.method != "POST") Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    PrepareTls(request.tls);
  }

  void PrepareTls(const ClientTls& tls) {
    if (!tls.authorities.empty()) {
      Set(CURLOPT_CAINFO, tls.authorities.c_str());
      Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    }
    if (!tls.certificate.empty()) Set(CURLOPT_SSLCERT, tls.certificate.c_str());
    if (!tls.key.empty()) Set(CURLOPT_SSLKEY, tls.key.c_str());
  }

  CURLcode Drive(const ClientRequest& request, const Coming& coming) {
    const os::Clock& clock = os::SystemClock();
    std::uint64_t seen = 0;
    const os::MonoTime end = request.limit ? clock.Now() + *request.limit : os::MonoTime::max();
    os::MonoTime give_up = std::min(end, clock.Now() + request.patience);
    curl_waitfd cancel{.fd = request.cancel_fd, .events = CURL_WAIT_POLLIN, .revents = 0};
    const unsigned watched = request.cancel_fd < 0 ? 0 : 1;
    // Who was given up before calls nobody: without this look a fast server has the call before the first wait.
    Curl().multi_poll(multi_.get(), &cancel, watched, 0, nullptr);
    if (cancel.revents != 0) return CURLE_ABORTED_BY_CALLBACK;
    for (int running = 1;;) {
      if (Curl().multi_perform(multi_.get(), &running) != CURLM_OK) return CURLE_FAILED_INIT;
      if (running == 0) return Outcome();
      if (stopped_ || cancel.revents != 0) return CURLE_ABORTED_BY_CALLBACK;
      curl_off_t sent = 0;
      Curl().easy_getinfo(easy_.get(), CURLINFO_SIZE_UPLOAD_T, &sent);
      const os::MonoTime now = clock.Now();
      if (const std::uint64_t steps = coming.steps + static_cast<std::uint64_t>(sent); steps != seen) {
        seen = steps;
        const bool answers = coming.header_complete && request.quiet;
        give_up = std::min(end, now + (answers ? *request.quiet : request.patience));
      }
      if (now >= give_up) return CURLE_OPERATION_TIMEDOUT;
      const auto left = std::chrono::ceil<os::Millis>(give_up - now).count();
      Curl().multi_poll(multi_.get(), &cancel, watched, static_cast<int>(std::min<std::int64_t>(left, kLongestWait)),
                        nullptr);
    }
  }

  CURLcode Outcome() {
    int left = 0;
    while (const CURLMsg* message = Curl().multi_info_read(multi_.get(), &left))
      if (message->msg == CURLMSG_DONE) return message->data.result;
    return CURLE_FAILED_INIT;
  }

  /// Curl's own words hold times and ports of this one attempt, except where they say more than the code does.
  std::string Why(CURLcode code, const char* words) {
    if (code == CURLE_ABORTED_BY_CALLBACK) return "it was given up";
    if (code == CURLE_OPERATION_TIMEDOUT) return "the other side is silent";
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR) return Printable(words, 300);
    long error = 0;
    Curl().easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &error);
    std::string why = Curl().easy_strerror(code);
    if (code == CURLE_COULDNT_CONNECT && error != 0)
      why += ": " + std::system_category().message(static_cast<int>(error));
    return why;
  }

  std::atomic<bool> stopped_ = false;
  Multi multi_;
  Easy easy_;  // of the request under way; goes first
};

}  // namespace

Result<std::unique_ptr<Client>> MakeClient() {
  if (FindCurl() == nullptr)
    return Fail(Code::kUnsupported,
                "libcurl.so.4 (7.85 or newer) cannot be loaded; install the package libcurl3-gnutls");
  Multi multi(Curl().multi_init());
  if (multi == nullptr) return Fail(Code::kIo, "the HTTP library cannot be readied");
  return std::make_unique<CurlClient>(std::move(multi));
}

}  // namespace berth::http
