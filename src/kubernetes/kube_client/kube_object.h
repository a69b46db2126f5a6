// An object of an API server as Berth passes it on: what it is called, and its text.
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_KUBE_OBJECT_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_KUBE_OBJECT_H_

#include <chrono>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::kube {

struct ObjectKey {
  std::string namespace_;  ///< "": of none
  std::string name;
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

struct Object {
  ObjectKey key;
  std::string uid;
  std::string resource_version;  ///< opaque
  std::string json;              ///< all of it, as the server wrote it
};

/// Reads the metadata. Errors: kInvalid when it is no object with metadata. A name may be missing: bookmarks have none.
Result<Object> ReadObject(std::string_view json);

/// One page of a list.
struct ListText {
  std::string resource_version;
  std::string continue_token;  ///< "": the last page
  std::string_view items;      ///< an array, for EachItem; "": there is none
};
/// Lifetime: views into `json`. Errors: kInvalid.
Result<ListText> ReadList(std::string_view json);

/// One line of a watch.
struct WatchLine {
  std::string type;         ///< ADDED, MODIFIED, DELETED, BOOKMARK, ERROR or a newer one
  std::string_view object;  ///< of ERROR: a Status
};
/// Lifetime: views into `json`. Errors: kInvalid.
Result<WatchLine> ReadWatchLine(std::string_view json);

/// Whether a bookmark ends the state that a watch began with.
bool EndsInitialEvents(std::string_view bookmark);

/// What a server says of a failure (metav1.Status).
struct Status {
  int code = 0;
  std::string reason;          ///< "NotFound", ...; "": it says none
  std::string message;         ///< fit to be shown; "": it says none
  std::string cause;           ///< the reason of the first cause
  std::string continue_token;  ///< of a list whose token has expired
  std::optional<std::chrono::seconds> retry_after;
};
/// Whatever can be read of it: other servers and proxies answer, too.
Status ReadStatus(int http_status, std::string_view body);

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_KUBE_OBJECT_H_
