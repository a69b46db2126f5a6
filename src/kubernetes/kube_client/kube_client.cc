#include "kubernetes/kube_client/kube_client.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "api/codec/shallow_json.h"
#include "base/text.h"
#include "host/os/event_fd.h"
#include "host/os/poll.h"
#include "kubernetes/kube_client/kube_session.h"
#include "kubernetes/kube_client/line_reader.h"
#include "rpc/http/http_client.h"
#include "rpc/http/url.h"

namespace berth::kube {
namespace {

constexpr int kMostListsAnew = 3;
constexpr os::Millis kWatchGrace{30'000};  // beyond the length that was agreed on

Code CodeOfStatus(int status) {
  switch (status) {
    case 401:
    case 403: return Code::kPermission;
    case 404: return Code::kNotFound;
    case 409:
    case 410: return Code::kConflict;
    case 429:
    case 503: return Code::kOverloaded;
    case 504: return Code::kTimeout;
    default: return status >= 400 && status < 500 ? Code::kInvalid : Code::kUncertain;
  }
}

CallError ErrorOfStatus(const std::string& doing, Status status) {
  CallError out;
  out.code = CodeOfStatus(status.code);
  out.message = doing + ": " + std::to_string(status.code) + (status.reason.empty() ? "" : " " + status.reason) +
                (status.message.empty() ? "" : ": " + status.message);
  out.status = status.code;
  out.reason = std::move(status.reason);
  out.cause = std::move(status.cause);
  out.retry_after = status.retry_after;
  return out;
}

/// An HTTP call, and what messages call it.
struct Call {
  std::string method = "GET";
  std::string path;
  std::string type = {};  ///< of the body
  std::string body = {};
  std::size_t most = 0;
};

class HttpApiClient final : public Client {
 public:
  HttpApiClient(std::unique_ptr<Session> session, std::unique_ptr<http::Client> http, os::EventFd stop,
                const ClientOptions& options)
      : session_(std::move(session)), http_(std::move(http)), stop_(std::move(stop)), options_(options) {}

  Answer<Object> Get(const Target& target) override {
    return ForObject({.path = PathOf(target), .most = options_.most_of_an_object});
  }

  Answer<Page> ListPage(const Target& target, const ListQuery& query, const ObjectSink& take) override {
    http::PathAndQuery address(PathOf(target));
    address.Add("labelSelector", query.label_selector).Add("fieldSelector", query.field_selector);
    if (query.limit > 0) address.Add("limit", std::to_string(query.limit));
    address.Add("continue", query.continue_token);
    if (query.continue_token.empty()) {
      address.Add("resourceVersion", query.resource_version);
      if (query.not_older && !query.resource_version.empty()) address.Add("resourceVersionMatch", "NotOlderThan");
    }
    const Call call{.path = address.text(), .most = options_.most_of_a_page};
    BERTH_TRY(const std::string body, Send(call));
    std::optional<Error> of_take;
    auto page = ReadPage(body, [&](Object object) {
      auto taken = take(std::move(object));
      if (!taken) of_take = taken.error();
      return taken;
    });
    if (of_take) return std::unexpected<CallError>(*std::move(of_take));
    if (!page) return Nonsense(call, std::move(page).error());
    return *std::move(page);
  }

  Answer<std::string> List(const Target& target, const ListQuery& query, const ListSink& sink) override {
    for (int again = 0;; ++again) {
      auto version = ListOnce(target, query, sink);
      // The token of a later page lives for a few minutes; a list that takes longer has to begin again.
      if (version || !version.error().Gone() || again == kMostListsAnew || !later_page_) return version;
    }
  }

  Answer<Object> Create(const Target& target, std::string json, const WriteOptions& options) override {
    return Write("POST", target, "application/json", std::move(json), options);
  }
  Answer<Object> Apply(const Target& target, std::string json, const WriteOptions& options) override {
    return Write("PATCH", target, "application/apply-patch+yaml", std::move(json), options);
  }
  Answer<Object> MergePatch(const Target& target, std::string json, const WriteOptions& options) override {
    return Write("PATCH", target, "application/merge-patch+json", std::move(json), options);
  }
  Answer<Object> JsonPatch(const Target& target, std::string json, const WriteOptions& options) override {
    return Write("PATCH", target, "application/json-patch+json", std::move(json), options);
  }
  Answer<void> Delete(const Target& target) override {
    BERTH_RETURN_IF_ERROR(Send({.method = "DELETE", .path = PathOf(target), .most = options_.most_of_an_object}));
    return {};
  }

  Answer<std::size_t> Watch(const Target& target, const WatchQuery& query, const LineSink& take) override {
    http::PathAndQuery address(PathOf(target));
    address.Add("watch", "true").Add("allowWatchBookmarks", "true");
    address.Add("timeoutSeconds", std::to_string(query.length.count()));
    address.Add("labelSelector", query.label_selector).Add("fieldSelector", query.field_selector);
    address.Add("resourceVersion", query.resource_version);
    if (query.initial_events) address.Add("sendInitialEvents", "true").Add("resourceVersionMatch", "NotOlderThan");
    const Call call{.path = address.text()};
    LineReader lines(options_.most_of_an_object);
    BERTH_TRY(http::ClientRequest request, Prepare(call));
    request.quiet = request.limit = query.length + kWatchGrace;
    request.on_piece = [&, began = false](std::string_view piece) mutable {
      if (!std::exchange(began, true)) return take({});
      return lines.Take(piece, take);
    };
    BERTH_RETURN_IF_ERROR(SendOnce(call, request));
    return lines.left_out();
  }

  void Stop() override { stop_.Signal(); }

 private:
  std::string Doing(const Call& call) const {
    return call.method + " " + session_->access().server + Printable(call.path, 300);
  }
  std::unexpected<CallError> Failed(const Call& call, Error error) const {
    return std::unexpected<CallError>(Wrap(std::move(error), Doing(call)).error());
  }
  std::unexpected<CallError> Nonsense(const Call& call, Error error) const {
    return Failed(call, {.code = error.code, .sys = 0, .message = "the answer makes no sense: " + error.message});
  }

  Answer<http::ClientRequest> Prepare(const Call& call) {
    auto request = session_->Prepare(call.method, call.path);
    if (!request) return Failed(call, std::move(request).error());
    if (!call.type.empty()) request->headers.emplace_back("Content-Type", call.type);
    request->body = call.body;
    request->max_body = call.most;
    request->patience = options_.patience;
    request->limit = options_.limit;
    request->cancel_fd = stop_.get();
    return *std::move(request);
  }

  /// The answer's body, of a success only.
  Answer<std::string> SendOnce(const Call& call, const http::ClientRequest& request) {
    auto answer = http_->Send(request);
    if (!answer) return Failed(call, std::move(answer).error());
    if (answer->status >= 200 && answer->status < 300) return std::move(answer->body);
    Status status = ReadStatus(answer->status, answer->body);
    if (answer->retry_after) status.retry_after = answer->retry_after;
    CallError error = ErrorOfStatus(Doing(call), std::move(status));
    // A body's word is for people; when to come again is said by the header only.
    asked_to_wait_ = answer->retry_after.has_value();
    return std::unexpected(std::move(error));
  }

  /// Again and again while the server asks for that; a token that has just been changed gets a second chance.
  Answer<std::string> Send(const Call& call) {
    bool with_new_token = false;
    for (int tries = 0;; ++tries) {
      BERTH_TRY(const http::ClientRequest request, Prepare(call));
      asked_to_wait_ = false;
      auto body = SendOnce(call, request);
      if (body || tries >= options_.retries) return body;
      const CallError& error = body.error();
      const bool rotated = error.status == 401 && !with_new_token && !session_->access().token_file.empty();
      const bool busy = asked_to_wait_ && (error.status == 429 || error.status >= 500);
      if (!rotated && !busy) return body;
      with_new_token = with_new_token || rotated;
      const os::Millis wait = rotated ? kTokenPause : std::min<os::Millis>(*error.retry_after, options_.longest_wait);
      const auto stopped = os::WaitFor(stop_.get(), POLLIN, os::SystemClock().Now() + wait);
      if (stopped && *stopped) return Failed(call, {.code = Code::kCancelled, .sys = 0, .message = "it was given up"});
    }
  }

  Answer<Object> ForObject(const Call& call) {
    BERTH_TRY(const std::string body, Send(call));
    auto object = ReadObject(body);
    if (!object) return Nonsense(call, std::move(object).error());
    return *std::move(object);
  }

  Answer<Object> Write(std::string_view method, const Target& target, std::string_view type, std::string json,
                       const WriteOptions& options) {
    http::PathAndQuery address(PathOf(target));
    address.Add("fieldManager", options.field_manager);
    if (options.force) address.Add("force", "true");
    if (options.dry_run) address.Add("dryRun", "All");
    return ForObject({.method = std::string(method),
                      .path = address.text(),
                      .type = std::string(type),
                      .body = std::move(json),
                      .most = options_.most_of_an_object});
  }

  Result<Page> ReadPage(const std::string& body, const ObjectSink& take) {
    BERTH_TRY(const ListText list, ReadList(body));
    Page page{.resource_version = list.resource_version, .continue_token = list.continue_token};
    if (list.items.empty()) return page;
    BERTH_RETURN_IF_ERROR(codec::EachItem(list.items, [&](std::string_view item) -> Result<void> {
      BERTH_TRY(Object object, ReadObject(item));
      if (object.key.name.empty()) return Fail(Code::kInvalid, "an object without a name");
      return take(std::move(object));
    }));
    return page;
  }

  Answer<std::string> ListOnce(const Target& target, ListQuery query, const ListSink& sink) {
    sink.begin();
    for (later_page_ = false;; later_page_ = true) {
      BERTH_TRY(const Page page, ListPage(target, query, sink.take));
      if (page.continue_token.empty()) return page.resource_version;
      if (page.continue_token == query.continue_token)
        return Failed({.path = PathOf(target)},
                      {.code = Code::kInvalid, .sys = 0, .message = "a page of the list leads to itself"});
      query.continue_token = page.continue_token;
    }
  }

  static constexpr os::Millis kTokenPause{100};

  std::unique_ptr<Session> session_;
  std::unique_ptr<http::Client> http_;
  os::EventFd stop_;  // readable once all is to end
  ClientOptions options_;
  bool asked_to_wait_ = false;  // by the last answer
  bool later_page_ = false;     // the list under way is beyond its first
};

}  // namespace

std::string PathOf(const Target& target) {
  const Resource& resource = target.resource;
  std::string out = resource.group.empty() ? "/api" : "/apis/" + http::EncodeQuery(resource.group);
  out += "/" + http::EncodeQuery(resource.version);
  if (!target.namespace_.empty()) out += "/namespaces/" + http::EncodeQuery(target.namespace_);
  for (const std::string& part : {resource.plural, target.name, target.subresource})
    if (!part.empty()) out += "/" + http::EncodeQuery(part);
  return out;
}

Result<std::unique_ptr<Client>> Client::Make(Access access, const ClientOptions& options) {
  BERTH_TRY(auto session, Session::Open(std::move(access)));
  BERTH_TRY(auto http, http::MakeClient());
  BERTH_TRY(os::EventFd stop, os::EventFd::Open());
  return std::make_unique<HttpApiClient>(std::move(session), std::move(http), std::move(stop), options);
}

}  // namespace berth::kube
