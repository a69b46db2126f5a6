// One HTTP request that can be ended from outside. Internal to the component.
#ifndef BERTH_FRONTEND_POD_SOURCES_HTTP_REQUEST_H_
#define BERTH_FRONTEND_POD_SOURCES_HTTP_REQUEST_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "manifest/document_tree.h"
#include "rpc/http/url.h"

namespace berth::pod_sources {

using Headers = std::map<std::string, std::vector<std::string>>;

/// Errors: kInvalid for a name or value that HTTP cannot carry, naming `field`.
Result<void> CheckHeaders(const Headers& headers, std::string_view field);

/// Asks one server again and again.
class HttpGetter {
 public:
  static constexpr std::size_t kMaxBody = manifest::kMaxTextBytes;  ///< more is no manifest

  virtual ~HttpGetter() = default;
  /// The body of an answer with status 200. Errors: kIo for anything else; the message names the URL and the cure.
  virtual Result<std::string> Get() = 0;
  /// Thread: any. Ends a Get that is under way.
  virtual void Stop() = 0;
};
/// `timeout`: of connecting, and of each wait for more of the answer. `shown`: what messages call the URL.
/// Errors: of http::MakeClient.
Result<std::unique_ptr<HttpGetter>> MakeHttpGetter(const http::Url& url, const Headers& headers, os::Millis timeout,
                                                   std::string shown);

}  // namespace berth::pod_sources

#endif  // BERTH_FRONTEND_POD_SOURCES_HTTP_REQUEST_H_
