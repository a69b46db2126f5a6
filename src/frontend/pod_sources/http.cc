// Pods from a URL. A thread asks, the owner's thread reads: what they share is one answer at a time.

#include <algorithm>
#include <cerrno>
#include <optional>
#include <thread>
#include <utility>

#include "base/fnv128.h"
#include "base/mutex.h"
#include "frontend/pod_sources/gather.h"
#include "frontend/pod_sources/http_request.h"
#include "frontend/pod_sources/source.h"
#include "frontend/pod_sources/static_pod.h"
#include "host/os/event_fd.h"

namespace berth::pod_sources {
namespace {

using os::MonoTime;

constexpr os::Millis kFirstRetry{1'000};
constexpr os::Millis kStopAgain{50};
constexpr std::string_view kUrlField = "staticPodURL";
constexpr std::string_view kSecrets = "give them as an Authorization header in staticPodURLHeader";

/// Runs one request at a time on a thread of its own.
class Asker {
 public:
  Asker(std::unique_ptr<HttpGetter> getter, os::EventFd done)
      : getter_(std::move(getter)), done_(std::move(done)), thread_([this] { Work(); }) {}
  ~Asker() {
    End();
    thread_.join();
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  /// Readable when Take has an answer.
  int fd() const { return done_.get(); }
  void Ask() BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    asked_ = true;
    changed_.NotifyAll();
  }
  /// Ends the request under way: its answer comes soon, and is an error unless it was complete already.
  void Stop() { getter_->Stop(); }
  std::optional<Result<std::string>> Take() BERTH_EXCLUDES(mutex_) {
    done_.Clear();
    const MutexLock lock(mutex_);
    return std::exchange(answer_, std::nullopt);
  }

 private:
  /// Stop may come a moment too early to be heard, hence again and again.
  void End() BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
    while (!ended_) {
      getter_->Stop();
      changed_.WaitUntil(mutex_, std::chrono::steady_clock::now() + kStopAgain);
    }
  }

  void Work() {
    while (WaitForWork()) {
      Result<std::string> answer = getter_->Get();
      const MutexLock lock(mutex_);
      answer_ = std::move(answer);
      done_.Signal();
    }
  }
  /// False: there will be none.
  bool WaitForWork() BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!asked_ && !ending_) changed_.Wait(mutex_);
    asked_ = false;
    ended_ = ending_;
    changed_.NotifyAll();
    return !ending_;
  }

  std::unique_ptr<HttpGetter> getter_;
  os::EventFd done_;
  Mutex mutex_;
  CondVar changed_;
  bool asked_ BERTH_GUARDED_BY(mutex_) = false;
  bool ending_ BERTH_GUARDED_BY(mutex_) = false;
  bool ended_ BERTH_GUARDED_BY(mutex_) = false;
  std::optional<Result<std::string>> answer_ BERTH_GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses the others
};

class HttpSource final : public Source {
 public:
  HttpSource(HttpOptions options, std::unique_ptr<HttpGetter> getter, os::EventFd done)
      : options_(std::move(options)), asker_(std::move(getter), std::move(done)) {}

  std::string name() const override { return "http"; }
  int event_fd() const override { return asker_.fd(); }
  MonoTime next_due() const override { return give_up_at_.value_or(next_ask_); }

  std::optional<Snapshot> Poll(MonoTime now) override {
    bool changed = false;
    if (const auto answer = asker_.Take()) changed = TakeAnswer(*answer, now);
    if (give_up_at_ && now >= *give_up_at_) {
      late_ = true;
      asker_.Stop();
      give_up_at_ = now + kFirstRetry;  // it may have been too early to be heard
    } else if (!give_up_at_ && now >= next_ask_) {
      late_ = false;
      give_up_at_ = now + options_.timeout;
      asker_.Ask();
    }
    if (!changed) return std::nullopt;
    return MakeSnapshot();
  }

 private:
  /// True when pods or problems changed.
  bool TakeAnswer(const Result<std::string>& answer, MonoTime now) {
    give_up_at_.reset();
    if (!answer) {
      next_ask_ = now + RetryAfter();
      const std::string why = late_ ? "get " + options_.url + ": no complete answer within " +
                                          std::to_string(options_.timeout.count()) + " ms"
                                    : answer.error().message;
      return Note(ask_problem_, why + "; pods that came from it stay as they are");
    }
    next_ask_ = now + options_.period;
    const bool was_away = Note(ask_problem_, "");
    std::string digest = Fnv128(*answer);
    if (digest_ == digest) return was_away;
    digest_ = std::move(digest);
    return Parse(*answer) || was_away;
  }

  os::Millis RetryAfter() {
    if (ready_) return options_.period;
    retry_ = retry_ == os::Millis(0) ? kFirstRetry : retry_ * 2;
    return retry_ = std::min(retry_, options_.period);
  }

  bool Parse(const std::string& body) {
    if (body.empty()) {
      ready_ = true;
      pods_.clear();
      documents_.clear();
      warnings_.clear();
      body_problem_ =
          options_.url + ": the answer is empty, which means no pods; an empty PodList says so without this";
      return true;
    }
    auto parsed = ReadStaticPods(body, {.place = options_.url,
                                        .scheme = "url",
                                        .source = name(),
                                        .node_name = options_.node_name,
                                        .notes = options_.notes,
                                        .pods = options_.pods});
    if (!parsed) return Note(body_problem_, parsed.error().message + "; pods that came from it stay as they are");
    ready_ = true;
    body_problem_.clear();
    pods_ = std::move(parsed->pods);
    documents_ = std::move(parsed->documents);
    warnings_ = std::move(parsed->warnings);
    return true;
  }

  Snapshot MakeSnapshot() const {
    Snapshot out{.ready = ready_,
                 .complete = ready_,
                 .pods = {},
                 .documents = {},
                 .files = {},
                 .warnings = warnings_,
                 .problems = {}};
    for (const std::string& problem : {ask_problem_, body_problem_})
      if (!problem.empty()) out.problems.push_back({options_.url, problem, name()});
    std::vector<FoundPod> found;
    for (const auto& pod : pods_) found.push_back({pod, options_.url});
    Gather(found, {.counted = {}, .running = {}}, out);
    std::vector<FoundDocument> documents;
    for (const auto& document : documents_) documents.push_back({document, options_.url});
    GatherDocuments(documents, {.counted = {}, .running = {}}, out);
    return out;
  }

  HttpOptions options_;
  Asker asker_;
  MonoTime next_ask_{};
  std::optional<MonoTime> give_up_at_;  // while a request is under way
  bool late_ = false;                   // it was given up
  os::Millis retry_{0};
  std::string digest_;                                            // Fnv128 of the last one, whatever it was
  std::string ask_problem_;                                       // why there is no answer
  std::string body_problem_;                                      // what is wrong with the last one
  std::vector<std::shared_ptr<const Pod>> pods_;                  // of the last good one
  std::vector<std::shared_ptr<const ConfigDocument>> documents_;  // likewise
  std::vector<SourceProblem> warnings_;
  bool ready_ = false;
};

}  // namespace

Result<void> CheckHttp(const HttpOptions& options) {
  BERTH_RETURN_IF_ERROR(http::ParseUrl(options.url, kUrlField, kSecrets));
  return CheckHeaders(options.headers, "staticPodURLHeader");
}

Result<std::unique_ptr<Source>> OpenHttp(HttpOptions options) {
  BERTH_RETURN_IF_ERROR(CheckHttp(options));
  BERTH_TRY(const http::Url url, http::ParseUrl(options.url, kUrlField, kSecrets));
  BERTH_TRY(os::EventFd done, os::EventFd::Open());
  BERTH_TRY(auto getter, MakeHttpGetter(url, options.headers, options.timeout, options.url));
  return std::unique_ptr<Source>(std::make_unique<HttpSource>(std::move(options), std::move(getter), std::move(done)));
}

}  // namespace berth::pod_sources
