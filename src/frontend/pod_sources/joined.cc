// Several sources as one.
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "frontend/pod_sources/gather.h"
#include "frontend/pod_sources/source.h"
#include "host/os/unique_fd.h"

namespace berth::pod_sources {
namespace {

class JoinedSource final : public Source {
 public:
  JoinedSource(std::vector<std::unique_ptr<Source>> sources, std::set<std::string> running, os::UniqueFd epoll)
      : epoll_(std::move(epoll)), running_(std::move(running)) {
    for (auto& source : sources) parts_.push_back({std::move(source), Snapshot{.complete = false}});
    WatchAll();
  }

  std::string name() const override {
    std::string out;
    for (const Part& part : parts_) out += (out.empty() ? "" : "+") + part.source->name();
    return out;
  }
  int event_fd() const override { return epoll_.get(); }
  os::MonoTime next_due() const override {
    os::MonoTime due = os::MonoTime::max();
    for (const Part& part : parts_) due = std::min(due, part.source->next_due());
    return due;
  }

  std::optional<Snapshot> Poll(os::MonoTime now) override {
    bool changed = false;
    for (Part& part : parts_) {
      auto snapshot = part.source->Poll(now);
      if (!snapshot) continue;
      part.last = *std::move(snapshot);
      changed = true;
    }
    WatchAll();
    if (!changed) return std::nullopt;
    return Join();
  }

 private:
  struct Part {
    std::unique_ptr<Source> source;
    Snapshot last;
  };

  /// A source may have closed its descriptor and made a new one, under the same number too: closing removed it then.
  void WatchAll() {
    for (const Part& part : parts_) {
      const int fd = part.source->event_fd();
      if (fd < 0) continue;
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = fd;
      // Refused only when it is watched already, or memory is short: then the source's next look finds what is new.
      [[maybe_unused]] const int added = ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
    }
  }

  Snapshot Join() {
    Snapshot out;
    std::vector<FoundPod> pods;
    std::vector<FoundDocument> documents;
    for (const Part& part : parts_) {
      const Snapshot& last = part.last;
      const std::string source = part.source->name();
      out.ready |= last.ready;
      out.complete &= last.ready && last.complete;
      out.storage += last.storage;
      out.held_bytes += last.held_bytes;
      std::ranges::copy(last.warnings, std::back_inserter(out.warnings));
      std::ranges::copy(last.problems, std::back_inserter(out.problems));
      for (const auto& pod : last.pods) {
        const std::string name = FullName(*pod);
        pods.push_back({pod, ValueAt(last.files, name), source, ValueAt(last.identities, name)});
      }
      for (const auto& [name, document] : last.documents)
        documents.push_back({document, ValueAt(last.files, name), source});
    }
    NoteRunning(pods);
    const Standing before{.counted = counted_, .running = {}};
    Gather(pods, before, out);
    GatherDocuments(documents, before, out);
    if (out.ready) counted_ = out.files;
    if (out.complete) running_.clear();
    return out;
  }

  /// What ran at the start counts when its source is read, whatever others were read before.
  void NoteRunning(const std::vector<FoundPod>& pods) {
    for (const FoundPod& item : pods) {
      const bool same = running_.erase(item.pod->uid) > 0;
      const bool resized = !item.identity.empty() && running_.erase(item.identity) > 0;
      if (same || resized) counted_.insert_or_assign(FullName(*item.pod), item.place);
    }
  }

  static std::string ValueAt(const std::map<std::string, std::string>& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? "" : found->second;
  }

  os::UniqueFd epoll_;
  std::vector<Part> parts_;
  std::set<std::string> running_;               // FolderOptions::running that no source had, until all were read
  std::map<std::string, std::string> counted_;  // Snapshot::files of the last snapshot
};

}  // namespace

Result<std::unique_ptr<Source>> JoinSources(std::vector<std::unique_ptr<Source>> sources,
                                            std::set<std::string> running) {
  os::UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return FailErrno("create an epoll descriptor", "", errno);
  return std::unique_ptr<Source>(
      std::make_unique<JoinedSource>(std::move(sources), std::move(running), std::move(epoll)));
}

}  // namespace berth::pod_sources
