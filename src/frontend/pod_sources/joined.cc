// Several sources as one.
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "frontend/pod_sources/source.h"
#include "host/os/unique_fd.h"

namespace berth::pod_sources {
namespace {

class JoinedSource final : public Source {
 public:
  JoinedSource(std::vector<std::unique_ptr<Source>> sources, os::UniqueFd epoll) : epoll_(std::move(epoll)) {
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

  Snapshot Join() const {
    Snapshot out;
    std::set<std::string> uids;
    for (const Part& part : parts_) {
      out.ready |= part.last.ready;
      out.complete &= part.last.ready && part.last.complete;
      out.storage += part.last.storage;
      std::ranges::copy(part.last.warnings, std::back_inserter(out.warnings));
      std::ranges::copy(part.last.problems, std::back_inserter(out.problems));
      for (const auto& pod : part.last.pods) Add(pod, part, uids, out);
      for (const auto& [name, document] : part.last.documents) AddDocument(name, document, part, out);
    }
    std::ranges::sort(out.pods, {}, [](const auto& pod) { return FullName(*pod); });
    return out;
  }

  static void AddDocument(const std::string& name, const std::shared_ptr<const ConfigDocument>& document,
                          const Part& part, Snapshot& out) {
    const auto place = part.last.files.find(name);
    const std::string from = place == part.last.files.end() ? "" : place->second;
    if (out.documents.try_emplace(name, document).second)
      out.files.emplace(name, from);
    else
      out.problems.push_back(
          {from, from + ": " + name + " also comes from " + out.files[name] + ", which counts", part.source->name()});
  }

  static void Add(const std::shared_ptr<const Pod>& pod, const Part& part, std::set<std::string>& uids, Snapshot& out) {
    const std::string name = FullName(*pod);
    const auto place = part.last.files.find(name);
    const std::string from = place == part.last.files.end() ? "" : place->second;
    const auto other = out.files.find(name);
    if (other != out.files.end()) {
      out.problems.push_back(
          {from, from + ": " + name + " also comes from " + other->second + ", which counts", part.source->name()});
    } else if (!uids.insert(pod->uid).second) {
      out.problems.push_back({from,
                              from + ": " + name + " has the uid \"" + pod->uid +
                                  "\" of a pod of another source and is left out; "
                                  "remove its metadata.uid, or give it one of its own",
                              part.source->name()});
    } else {
      out.files.emplace(name, from);
      if (const auto known = part.last.identities.find(name); known != part.last.identities.end())
        out.identities.insert(*known);
      out.pods.push_back(pod);
    }
  }

  os::UniqueFd epoll_;
  std::vector<Part> parts_;
};

}  // namespace

Result<std::unique_ptr<Source>> JoinSources(std::vector<std::unique_ptr<Source>> sources) {
  os::UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return FailErrno("create an epoll descriptor", "", errno);
  return std::unique_ptr<Source>(std::make_unique<JoinedSource>(std::move(sources), std::move(epoll)));
}

}  // namespace berth::pod_sources
