#include "testing/web_page.h"

#include "base/mutex.h"
#include "testing/raw_server.h"

namespace berth::testkit {

struct WebPage::Inner {
  std::string Say(const RawRequest& request) BERTH_EXCLUDES(mutex) {
    const MutexLock lock(mutex);
    if (request.target != "/page") {
      ++elsewhere;
      return HttpText(200, "", "");
    }
    ++requests;
    seen = request.headers;
    return HttpText(status, status / 100 == 3 ? "Location: /elsewhere\r\n" : "", body);
  }

  mutable Mutex mutex;
  int status BERTH_GUARDED_BY(mutex) = 200;
  std::string body BERTH_GUARDED_BY(mutex);
  int requests BERTH_GUARDED_BY(mutex) = 0;
  int elsewhere BERTH_GUARDED_BY(mutex) = 0;
  std::multimap<std::string, std::string> seen BERTH_GUARDED_BY(mutex);
  RawServer server{Answering([this](const RawRequest& request) { return Say(request); })};  // last: it uses the others
};

WebPage::WebPage() : inner_(std::make_unique<Inner>()) {}
WebPage::~WebPage() = default;

std::string WebPage::url() const { return inner_->server.url(); }

void WebPage::Answer(int status, const std::string& body) {
  const MutexLock lock(inner_->mutex);
  inner_->status = status;
  inner_->body = body;
}

int WebPage::requests() const {
  const MutexLock lock(inner_->mutex);
  return inner_->requests;
}

int WebPage::requests_elsewhere() const {
  const MutexLock lock(inner_->mutex);
  return inner_->elsewhere;
}

std::vector<std::string> WebPage::SeenHeader(const std::string& name) const {
  const MutexLock lock(inner_->mutex);
  std::vector<std::string> out;
  const auto [begin, end] = inner_->seen.equal_range(name);
  for (auto it = begin; it != end; ++it) out.push_back(it->second);
  return out;
}

}  // namespace berth::testkit
