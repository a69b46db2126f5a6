// One HTTP request that can be ended from outside. Internal to the room.
#ifndef BERTH_SOURCE_HTTP_REQUEST_H_
#define BERTH_SOURCE_HTTP_REQUEST_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/url.h"
#include "manifest/document_tree.h"
#include "os/clock.h"

namespace berth::source {

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

}  // namespace berth::source

#endif  // BERTH_SOURCE_HTTP_REQUEST_H_
