#include "kubernetes/kube_client/kube_watcher.h"

#include <map>
#include <random>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "kubernetes/kube_client/change_queue.h"
#include "kubernetes/kube_client/course.h"

namespace berth::kube {
namespace {

/// The objects that were passed on, to tell what is new of a state that is read again.
class Known {
 public:
  void BeginState() {
    in_state_ = true;
    named_.clear();
  }
  /// False: it is the same as before.
  bool Set(const Object& object) {
    if (in_state_) named_.insert(object.key);
    auto [at, is_new] = versions_.try_emplace(object.key, object.resource_version);
    if (!is_new && !object.resource_version.empty() && at->second == object.resource_version) return false;
    at->second = object.resource_version;
    return true;
  }
  void Drop(const ObjectKey& key) {
    versions_.erase(key);
    named_.erase(key);
  }
  /// Those that the state did not name, no longer known.
  std::vector<ObjectKey> EndState() {
    std::vector<ObjectKey> gone;
    for (const auto& [key, version] : versions_)
      if (!named_.contains(key)) gone.push_back(key);
    for (const ObjectKey& key : gone) versions_.erase(key);
    named_.clear();
    in_state_ = false;
    return gone;
  }

 private:
  std::map<ObjectKey, std::string> versions_;
  std::set<ObjectKey> named_;  // by the state being read
  bool in_state_ = false;
};

class ThreadWatcher final : public Watcher {
 public:
  ThreadWatcher(std::unique_ptr<Client> client, os::EventFd fd, WatchOptions options)
      : options_(std::move(options)),
        client_(std::move(client)),
        queue_(std::move(fd), options_.most_changes, options_.most_bytes),
        course_(options_.selective),
        pace_(options_.pace),
        random_(options_.seed) {}
  ~ThreadWatcher() override {
    queue_.End();
    client_->Stop();
    if (thread_.joinable()) thread_.join();
  }
  ThreadWatcher(const ThreadWatcher&) = delete;
  ThreadWatcher& operator=(const ThreadWatcher&) = delete;

  /// Errors: kExhausted: no thread is to be had.
  Result<void> Begin() {
    try {
      thread_ = std::thread([this] { Follow(); });
    } catch (const std::system_error& error) {
      return Fail(Code::kExhausted, std::string("start a thread for the watch: ") + error.what());
    }
    return {};
  }

  int event_fd() const override { return queue_.fd(); }
  std::vector<Change> Take(std::size_t most) override { return queue_.Take(most); }
  std::optional<CallError> Trouble() const override { return queue_.trouble(); }

 private:
  void Follow() {
    while (!queue_.ended()) {
      const auto done = course_.step() == Course::Step::kList ? List() : Stream();
      if (done) continue;
      const CallError& error = done.error();
      const Course::Step before = course_.step();
      course_.Failed(error);
      // A server that cannot do it says so at once: no trouble, and no reason to wait.
      if (before == Course::Step::kInitialEvents && course_.step() == Course::Step::kList) continue;
      queue_.SetTrouble(error);
      queue_.Wait(pace_.Failed(os::SystemClock().Now(), Chance()));
    }
  }

  double Chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  Answer<void> List() {
    ListQuery query{.label_selector = options_.label_selector,
                    .field_selector = options_.field_selector,
                    .resource_version = course_.From()};
    query.not_older = query.resource_version != "0";
    if (options_.selective && !query.resource_version.empty()) query.limit = 0;  // as the server would
    const ListSink sink{.begin = [&] { known_.BeginState(); },
                        .take = [&](Object object) -> Result<void> {
                          if (Set(std::move(object))) return {};
                          return Fail(Code::kCancelled, "it was given up");
                        }};
    BERTH_TRY(const std::string version, client_->List(options_.target, query, sink));
    EndState(version);
    return {};
  }

  /// One watch, to its end.
  Answer<void> Stream() {
    const bool initial = course_.step() == Course::Step::kInitialEvents;
    if (initial) known_.BeginState();
    any_ = false;
    stream_error_.reset();
    const WatchQuery query{.label_selector = options_.label_selector,
                           .field_selector = options_.field_selector,
                           .resource_version = course_.From(),
                           .initial_events = initial,
                           .length = options_.length + std::chrono::seconds(static_cast<std::int64_t>(
                                                           static_cast<double>(options_.length.count()) * Chance()))};
    const os::MonoTime began = os::SystemClock().Now();
    auto ended = client_->Watch(options_.target, query, [&](std::string_view line) { return TakeLine(line); });
    if (stream_error_) return std::unexpected(*std::move(stream_error_));
    if (!ended) return std::unexpected(std::move(ended).error());
    if (*ended > 0) return Failure(Code::kInvalid, std::to_string(*ended) + " changes are too large and were left out");
    const auto lasted = std::chrono::duration_cast<os::Millis>(os::SystemClock().Now() - began);
    if (course_.step() == Course::Step::kInitialEvents) return Failure(Code::kUncertain, "it ended within the state");
    if (!Course::EndedWell(lasted, any_)) return Failure(Code::kUncertain, "it ended at once");
    return {};
  }

  /// False: the stream is of no more use.
  bool TakeLine(std::string_view text) {
    if (text.empty()) {
      queue_.SetTrouble(std::nullopt);
      return true;
    }
    const auto line = ReadWatchLine(text);
    if (!line) return StreamFails(line.error());
    if (line->type == "ERROR") {
      Status status = ReadStatus(0, line->object);
      CallError error(
          Error{.code = Code::kConflict, .sys = 0, .message = Name() + status.reason + " " + status.message});
      error.status = status.code;
      error.reason = std::move(status.reason);
      error.cause = std::move(status.cause);
      stream_error_ = std::move(error);
      return false;
    }
    auto object = ReadObject(line->object);
    if (!object) return StreamFails(object.error());
    any_ = true;
    const std::string version = object->resource_version;
    if (line->type == "BOOKMARK") {
      if (course_.step() == Course::Step::kInitialEvents) {
        if (EndsInitialEvents(line->object)) EndState(version);
        return true;
      }
    } else if (object->key.name.empty()) {
      return StreamFails({.code = Code::kInvalid, .sys = 0, .message = "an object without a name"});
    } else if (line->type == "DELETED") {
      known_.Drop(object->key);
      if (!queue_.Put({.kind = Change::Kind::kGone, .object = *std::move(object)})) return false;
    } else if (line->type == "ADDED" || line->type == "MODIFIED") {
      if (!Set(*std::move(object))) return false;
    }
    // Within the state versions come in any order.
    if (course_.step() == Course::Step::kWatch) course_.Seen(version);
    return true;
  }

  std::string Name() const { return "watch " + PathOf(options_.target) + ": "; }
  std::unexpected<CallError> Failure(Code code, const std::string& why) const {
    return std::unexpected<CallError>(Error{.code = code, .sys = 0, .message = Name() + why});
  }
  bool StreamFails(const Error& error) {
    stream_error_ = Failure(error.code, error.message).error();
    return false;
  }

  /// False: the end has come.
  bool Set(Object object) {
    if (!known_.Set(object)) return true;
    return queue_.Put({.kind = Change::Kind::kSet, .object = std::move(object)});
  }
  void EndState(const std::string& version) {
    for (ObjectKey& key : known_.EndState()) {
      Change gone{.kind = Change::Kind::kGone, .object = {}};
      gone.object.key = std::move(key);
      queue_.Put(std::move(gone));
    }
    Change synced{.kind = Change::Kind::kSynced, .object = {}};
    synced.object.resource_version = version;
    queue_.Put(std::move(synced));
    queue_.SetTrouble(std::nullopt);
    course_.Listed(version);
  }

  const WatchOptions options_;
  std::unique_ptr<Client> client_;
  ChangeQueue queue_;
  Course course_;  // this and what follows: the thread's
  Pace pace_;
  std::mt19937_64 random_;
  Known known_;
  bool any_ = false;                       // of the stream under way: something came
  std::optional<CallError> stream_error_;  // likewise
  std::thread thread_;                     // uses the others
};

}  // namespace

Result<std::unique_ptr<Watcher>> Watcher::Start(Access access, WatchOptions options) {
  BERTH_TRY(auto client, Client::Make(std::move(access), options.client));
  BERTH_TRY(os::EventFd fd, os::EventFd::Open());
  auto out = std::make_unique<ThreadWatcher>(std::move(client), std::move(fd), std::move(options));
  BERTH_RETURN_IF_ERROR(out->Begin());
  return out;
}

}  // namespace berth::kube
