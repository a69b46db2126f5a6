// An API server with a cluster that a test changes. For tests of what follows it.
#ifndef BERTH_KUBERNETES_SCHEDULER_SERVER_FAKE_CLUSTER_TEST_H_
#define BERTH_KUBERNETES_SCHEDULER_SERVER_FAKE_CLUSTER_TEST_H_

#include <poll.h>

#include <map>
#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "base/mutex.h"
#include "base/text.h"
#include "kubernetes/kube_client/fake_api_test.h"
#include "kubernetes/scheduler_server/cluster.h"

namespace berth::scheduler_server {

/// Objects of two kinds, which are listed and watched as by an API server of before watch-lists; who writes one whole
/// puts it.
class FakeCluster {
 public:
  kube::Access access() const { return api_.access(); }

  void Put(Kind kind, const std::string& name, const std::string& text) {
    const MutexLock lock(mutex_);
    Store& store = stores_[kind];
    store.objects[name] = text;
    store.events.push_back(kube::Line("MODIFIED", text));
  }
  void Remove(Kind kind, const std::string& name) {
    const MutexLock lock(mutex_);
    Store& store = stores_[kind];
    store.events.push_back(kube::Line("DELETED", store.objects[name]));
    store.objects.erase(name);
  }
  /// "": as it should be; else what every call of the kind gets.
  void Refuse(Kind kind, const std::string& answer) {
    const MutexLock lock(mutex_);
    stores_[kind].refusal = answer;
    ++stores_[kind].breaks;
  }
  bool Watched(Kind kind) {
    const MutexLock lock(mutex_);
    return stores_[kind].watchers > 0;
  }

 private:
  struct Store {
    std::map<std::string, std::string> objects;
    std::vector<std::string> events;
    std::string refusal;
    int breaks = 0;
    int watchers = 0;
  };

  void Answer(const kube::Asked& asked, int fd) {
    const std::string& line = asked.line;
    const Kind kind = line.contains("/nodestates") ? Kind::kNodeStates : Kind::kPods;
    std::string refusal;
    std::string list;
    {
      const MutexLock lock(mutex_);
      const Store& store = stores_[kind];
      refusal = store.refusal;
      std::vector<std::string> items;
      for (const auto& [name, text] : store.objects) items.push_back(text);
      list = kube::ListAnswer(items, std::to_string(100 + store.events.size()));
    }
    if (line.starts_with("PATCH ") && kind == Kind::kNodeStates)
      testkit::SendAll(fd, Keep(kind, asked.body));
    else if (line.contains("/nodes/") || line.contains("/nodestates/"))
      testkit::SendAll(fd, kube::JsonAnswer(404, kube::StatusText(404, "NotFound")));
    else if (!refusal.empty())
      testkit::SendAll(fd, refusal);
    else if (line.contains("sendInitialEvents=true"))
      testkit::SendAll(fd, kube::JsonAnswer(422, kube::StatusText(422, "Invalid")));
    else if (line.contains("watch=true"))
      Stream(kind, line, fd);
    else
      testkit::SendAll(fd, list);
  }

  /// The answer to who wrote it.
  std::string Keep(Kind kind, const std::string& body) {
    codec::Json object = codec::Json::parse(body);
    const std::string name = object["metadata"]["name"];
    object["metadata"]["uid"] = "u-" + name;
    {
      const MutexLock lock(mutex_);
      object["metadata"]["resourceVersion"] = std::to_string(101 + stores_[kind].events.size());
    }
    Put(kind, name, object.dump());
    return kube::JsonAnswer(200, object.dump());
  }

  /// Every event after the version that is asked for: 100 and the number of events that were.
  void Stream(Kind kind, const std::string& line, int fd) {
    const std::string key = "resourceVersion=";
    const auto at = line.find("&" + key) + key.size() + 1;
    std::size_t next = ParseDecimal<std::size_t>(line.substr(at, 3)).value_or(100) - 100;
    if (!testkit::SendAll(fd, kube::StreamBegin())) return;
    int breaks = -1;
    while (true) {
      std::vector<std::string> lines;
      {
        const MutexLock lock(mutex_);
        Store& store = stores_[kind];
        if (breaks < 0) {
          breaks = store.breaks;
          ++store.watchers;
        }
        if (store.breaks != breaks) {
          --store.watchers;
          return;
        }
        for (; next < store.events.size(); ++next) lines.push_back(store.events[next]);
      }
      for (const std::string& each : lines)
        if (!testkit::SendAll(fd, each)) break;
      pollfd ready{fd, POLLIN, 0};
      if (::poll(&ready, 1, 5) != 0) {  // the watcher has gone
        const MutexLock lock(mutex_);
        --stores_[kind].watchers;
        return;
      }
    }
  }

  Mutex mutex_;
  std::map<Kind, Store> stores_ BERTH_GUARDED_BY(mutex_);
  kube::FakeApi api_{[this](const kube::Asked& asked, int, int fd) { Answer(asked, fd); }};
};

}  // namespace berth::scheduler_server

#endif  // BERTH_KUBERNETES_SCHEDULER_SERVER_FAKE_CLUSTER_TEST_H_
