// URLs of servers as people write them, and text as a part of one.
#ifndef BERTH_RPC_HTTP_URL_H_
#define BERTH_RPC_HTTP_URL_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace berth::http {

struct Url {
  bool tls = false;
  std::string host;  ///< without the brackets of an IPv6 address
  int port = 80;
  std::string target;  ///< path and query, starts with '/'
};
/// `secrets`: where user and password belong, which are refused here. Errors: kInvalid, naming `field` and what is
/// expected.
Result<Url> ParseUrl(std::string_view text, std::string_view field, std::string_view secrets);

/// "host:port", with the brackets of an IPv6 address.
std::string Authority(const Url& url);

/// `text` as the value of a query parameter or one segment of a path: everything but letters, digits and "-._~" as %XX.
std::string EncodeQuery(std::string_view text);

/// A path with its query.
class PathAndQuery {
 public:
  explicit PathAndQuery(std::string path) : text_(std::move(path)) {}
  /// Nothing for "" and nullopt.
  PathAndQuery& Add(std::string_view key, std::string_view value);
  PathAndQuery& Add(std::string_view key, std::optional<std::size_t> value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  char separator_ = '?';
};

}  // namespace berth::http

#endif  // BERTH_RPC_HTTP_URL_H_
