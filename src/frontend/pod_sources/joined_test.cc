#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <set>

#include "frontend/pod_sources/source.h"
#include "host/os/unique_fd.h"

namespace berth::pod_sources {
namespace {

using os::Millis;
using os::MonoTime;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A source whose next snapshot is set by the test.
class PlayedSource final : public Source {
 public:
  explicit PlayedSource(std::string name) : name_(std::move(name)) { NewDescriptor(); }
  std::string name() const override { return name_; }
  int event_fd() const override { return fd_.get(); }
  MonoTime next_due() const override { return due; }
  std::optional<Snapshot> Poll(MonoTime) override { return std::exchange(next, std::nullopt); }
  void NewDescriptor() { fd_ = os::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }
  void Wake() const {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(fd_.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  std::optional<Snapshot> next;
  MonoTime due = MonoTime::max();

 private:
  std::string name_;
  os::UniqueFd fd_;
};

Pod PodOf(const std::string& name, const std::string& uid) {
  Pod pod;
  pod.namespace_ = "default";
  pod.name = name;
  pod.uid = uid;
  return pod;
}

Snapshot SnapshotOf(const std::vector<Pod>& pods, const std::string& place) {
  Snapshot out{.ready = true};
  for (const Pod& pod : pods) {
    out.files.emplace(FullName(pod), place);
    out.pods.push_back(std::make_shared<const Pod>(pod));
  }
  return out;
}

ConfigDocuments DocumentsOf(const std::string& value, const std::string& place, Snapshot& out) {
  auto document = std::make_shared<ConfigDocument>();
  document->name = "app";
  document->data = {{"color", value}};
  out.files.emplace("ConfigMap default/app", place);
  return {{"ConfigMap default/app", std::move(document)}};
}

class JoinedSourceTest : public testing::Test {
 protected:
  JoinedSourceTest() { Open(); }
  void Open(std::set<std::string> running = {}) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(std::make_unique<PlayedSource>("file"));
    sources.push_back(std::make_unique<PlayedSource>("http"));
    file_ = static_cast<PlayedSource*>(sources[0].get());
    http_ = static_cast<PlayedSource*>(sources[1].get());
    joined_ = *JoinSources(std::move(sources), std::move(running));
  }
  static std::vector<std::string> UidsOf(const std::optional<Snapshot>& snapshot) {
    std::vector<std::string> out;
    if (snapshot)
      for (const auto& pod : snapshot->pods) out.push_back(pod->uid);
    return out;
  }
  bool Readable() const {
    pollfd waiting{joined_->event_fd(), POLLIN, 0};
    return ::poll(&waiting, 1, 0) == 1;
  }

  PlayedSource* file_ = nullptr;
  PlayedSource* http_ = nullptr;
  std::unique_ptr<Source> joined_;
};

TEST_F(JoinedSourceTest, ASourceThatIsNotReadyFreesNothing) {
  file_->next = SnapshotOf({PodOf("a", "1")}, "/pods/a.yaml");
  const auto first = joined_->Poll(MonoTime());
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->ready) << "pods of the folder need not wait";
  EXPECT_FALSE(first->complete) << "but a pod only the ledger knows may be one of the URL";
  http_->next = SnapshotOf({PodOf("b", "2")}, "http://x/");
  const auto both = joined_->Poll(MonoTime());
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->complete);
  EXPECT_THAT(both->pods, SizeIs(2));
  EXPECT_EQ(both->files.at("default/b"), "http://x/");
}

TEST_F(JoinedSourceTest, StorageOfAllIsThere) {
  file_->next = SnapshotOf({}, "");
  file_->next->storage = "{}\n";
  file_->next->held_bytes = 7;
  http_->next = SnapshotOf({}, "");
  const auto snapshot = joined_->Poll(MonoTime());
  ASSERT_TRUE(snapshot);
  EXPECT_EQ("{}\n", snapshot->storage);
  EXPECT_EQ(7U, snapshot->held_bytes);
}

TEST_F(JoinedSourceTest, AnIncompleteSourceMakesTheWholeIncomplete) {
  file_->next = SnapshotOf({}, "");
  file_->next->complete = false;
  http_->next = SnapshotOf({}, "");
  EXPECT_FALSE(joined_->Poll(MonoTime())->complete);
}

TEST_F(JoinedSourceTest, NothingNewIsNoSnapshot) {
  EXPECT_FALSE(joined_->Poll(MonoTime()));
  http_->next = SnapshotOf({}, "");
  EXPECT_TRUE(joined_->Poll(MonoTime()));
  EXPECT_FALSE(joined_->Poll(MonoTime()));
}

TEST_F(JoinedSourceTest, TheEarlierSourceCountsWhereTwoNameOnePod) {
  file_->next = SnapshotOf({PodOf("a", "1"), PodOf("c", "3")}, "/pods/a.yaml");
  http_->next = SnapshotOf({PodOf("a", "2"), PodOf("b", "3")}, "http://x/");
  const auto snapshot = joined_->Poll(MonoTime());
  ASSERT_TRUE(snapshot);
  ASSERT_THAT(snapshot->pods, SizeIs(2));
  EXPECT_EQ(snapshot->pods[0]->uid, "1");
  EXPECT_EQ(snapshot->pods[1]->uid, "3");
  EXPECT_EQ(snapshot->pods[1]->name, "c");
  ASSERT_THAT(snapshot->problems, SizeIs(2));
  EXPECT_EQ(snapshot->problems[0].message,
            "http://x/: default/a is ignored, because /pods/a.yaml holds it too and counts; give one of them another "
            "name, or remove it");
  EXPECT_THAT(snapshot->problems[1].message, HasSubstr("default/b has the uid \"3\""));
  EXPECT_EQ(snapshot->problems[1].source, "http");
}

TEST_F(JoinedSourceTest, WhatCountedStaysWhenAnEarlierSourceNamesItToo) {
  file_->next = SnapshotOf({}, "");
  http_->next = SnapshotOf({PodOf("a", "1")}, "http://x/");
  http_->next->documents = DocumentsOf("blue", "http://x/", *http_->next);
  ASSERT_THAT(UidsOf(joined_->Poll(MonoTime())), ElementsAre("1"));

  file_->next = SnapshotOf({PodOf("a", "2")}, "/pods/a.yaml");
  file_->next->documents = DocumentsOf("red", "/pods/a.yaml", *file_->next);
  auto snapshot = joined_->Poll(MonoTime());
  EXPECT_THAT(UidsOf(snapshot), ElementsAre("1")) << "it runs";
  EXPECT_EQ(snapshot->files.at("default/a"), "http://x/");
  EXPECT_EQ(snapshot->documents.at("ConfigMap default/app")->data.at("color"), "blue");
  ASSERT_THAT(snapshot->problems, SizeIs(2));
  for (const SourceProblem& problem : snapshot->problems) {
    EXPECT_EQ(problem.file, "/pods/a.yaml");
    EXPECT_EQ(problem.source, "file");
    EXPECT_THAT(problem.message, HasSubstr(" is ignored, because http://x/ holds it too and counts"));
  }

  http_->next = SnapshotOf({PodOf("a", "3")}, "http://x/");
  EXPECT_THAT(UidsOf(joined_->Poll(MonoTime())), ElementsAre("3")) << "where it counts it may change";
  http_->next = SnapshotOf({}, "");
  snapshot = joined_->Poll(MonoTime());
  EXPECT_THAT(UidsOf(snapshot), ElementsAre("2")) << "the other one has gone";
  EXPECT_EQ(snapshot->documents.at("ConfigMap default/app")->data.at("color"), "red");
  EXPECT_THAT(snapshot->problems, IsEmpty());
}

TEST_F(JoinedSourceTest, WhatRanBeforeTheStartCountsThoughItsSourceIsReadLater) {
  for (const char* const known : {"1", "identity of 1"}) {
    Open({known});
    file_->next = SnapshotOf({PodOf("a", "2")}, "/pods/a.yaml");
    const auto first = joined_->Poll(MonoTime());
    ASSERT_TRUE(first);
    EXPECT_FALSE(first->complete) << "nothing ends by this";
    http_->next = SnapshotOf({PodOf("a", "1")}, "http://x/");
    http_->next->identities = {{"default/a", "identity of 1"}};
    EXPECT_THAT(UidsOf(joined_->Poll(MonoTime())), ElementsAre("1")) << known;
    http_->next = SnapshotOf({}, "");
    EXPECT_THAT(UidsOf(joined_->Poll(MonoTime())), ElementsAre("2"));
    http_->next = SnapshotOf({PodOf("a", "1")}, "http://x/");
    EXPECT_THAT(UidsOf(joined_->Poll(MonoTime())), ElementsAre("2")) << "that was long ago: this one runs now";
  }
}

TEST_F(JoinedSourceTest, WakesForEitherSourceAlsoForADescriptorMadeAnew) {
  EXPECT_FALSE(Readable());
  http_->Wake();
  EXPECT_TRUE(Readable());
  http_->NewDescriptor();
  EXPECT_FALSE(Readable());
  EXPECT_FALSE(joined_->Poll(MonoTime()));
  http_->Wake();
  EXPECT_TRUE(Readable());
}

TEST_F(JoinedSourceTest, IsDueWhenTheFirstOfThemIs) {
  EXPECT_EQ(joined_->next_due(), MonoTime::max());
  file_->due = MonoTime(Millis(7));
  http_->due = MonoTime(Millis(5));
  EXPECT_EQ(joined_->next_due(), MonoTime(Millis(5)));
}

}  // namespace
}  // namespace berth::pod_sources
