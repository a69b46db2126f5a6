// Asking a Kubernetes API server: one call at a time, each bounded in time and memory.
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_KUBE_CLIENT_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_KUBE_CLIENT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/loop_thread.h"
#include "host/os/clock.h"
#include "kubernetes/kube_client/access.h"
#include "kubernetes/kube_client/answer.h"
#include "kubernetes/kube_client/kube_object.h"

namespace berth::kube {

struct Resource {
  std::string group;  ///< "": the core's
  std::string version = "v1";
  std::string plural;
};
/// One object, or all of a namespace or of the cluster when the name is "".
struct Target {
  Resource resource;
  std::string namespace_;  ///< "": of the cluster, or in all namespaces
  std::string name;
  std::string subresource;
};
/// "/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL/NAME/SUBRESOURCE" with what there is of it.
std::string PathOf(const Target& target);

struct ListQuery {
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;  ///< "": the newest; "0": whatever the server has at hand
  bool not_older = false;        ///< than resource_version
  int limit = 250;               ///< objects a page; 0: all at once
  std::string continue_token;    ///< of the page before
  bool operator==(const ListQuery&) const = default;
};

/// Takes objects one by one; an error ends the call with it.
using ObjectSink = std::function<Result<void>(Object object)>;
struct ListSink {
  std::function<void()> begin;  ///< a list begins, perhaps again: what came before does not count
  ObjectSink take;
};
struct Page {
  std::string resource_version;
  std::string continue_token;  ///< "": the last one
};

struct WriteOptions {
  std::string field_manager = "berth";
  bool force = false;    ///< apply takes fields from other managers instead of a conflict
  bool dry_run = false;  ///< all checks, and nothing is kept
};

struct WatchQuery {
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;
  bool initial_events = false;  ///< the state first, up to a bookmark that says so
  std::chrono::seconds length{300};
};
/// Takes the lines of a watch, first "" when the server has agreed; false ends it.
using LineSink = std::function<bool(std::string_view line)>;

struct ClientOptions {
  os::Millis patience{30'000};                           ///< how long the server may do nothing
  os::Millis limit{65'000};                              ///< of a call; a server gives up after a minute
  std::size_t most_of_an_object = std::size_t{8} << 20;  ///< and of a line of a watch
  std::size_t most_of_a_page = std::size_t{64} << 20;
  int retries = 10;                 ///< when the server is too busy and says when to come again
  os::Millis longest_wait{32'000};  ///< of what it says
};

/// Errors of all calls: "VERB URL: ..." with status and reason of the server; kNotFound (404), kConflict (409, 410),
/// kPermission (401, 403), kOverloaded (429, 503), kTimeout, kUnreachable, kCancelled, kInvalid (other 4xx, and answers
/// that make no sense), else kUncertain. Calls that may not have been done are made again only when the server asks for
/// that.
///
/// Thread: one at a time, but for Stop. Calls wait for the network.
class Client {
 public:
  static Result<std::unique_ptr<Client>> Make(Access access, const ClientOptions& options = {});
  virtual ~Client() = default;

  virtual Answer<Object> Get(const Target& target) BERTH_EXCLUDES(loop_thread) = 0;
  virtual Answer<Page> ListPage(const Target& target, const ListQuery& query, const ObjectSink& take)
      BERTH_EXCLUDES(loop_thread) = 0;
  /// Page after page. One that has expired begins the list anew, up to three times. The answer: its resource version.
  virtual Answer<std::string> List(const Target& target, const ListQuery& query, const ListSink& sink)
      BERTH_EXCLUDES(loop_thread) = 0;
  virtual Answer<Object> Create(const Target& target, std::string json, const WriteOptions& options = {})
      BERTH_EXCLUDES(loop_thread) = 0;
  /// Server-side apply: makes the object when there is none. `json` has apiVersion, kind and name.
  virtual Answer<Object> Apply(const Target& target, std::string json, const WriteOptions& options = {})
      BERTH_EXCLUDES(loop_thread) = 0;
  /// RFC 7386. For status: with subresource "status".
  virtual Answer<Object> MergePatch(const Target& target, std::string json, const WriteOptions& options = {})
      BERTH_EXCLUDES(loop_thread) = 0;
  /// RFC 6902: an array of operations.
  virtual Answer<Object> JsonPatch(const Target& target, std::string json, const WriteOptions& options = {})
      BERTH_EXCLUDES(loop_thread) = 0;
  virtual Answer<void> Delete(const Target& target) BERTH_EXCLUDES(loop_thread) = 0;
  /// Returns when the server or `take` ends the stream. Lines longer than an object may be are left out; the answer is
  /// how many.
  virtual Answer<std::size_t> Watch(const Target& target, const WatchQuery& query, const LineSink& take)
      BERTH_EXCLUDES(loop_thread) = 0;

  /// Thread: any. Ends the call under way and all that follow with kCancelled.
  virtual void Stop() = 0;
};

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_KUBE_CLIENT_H_
