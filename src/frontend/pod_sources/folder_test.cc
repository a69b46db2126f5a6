#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "frontend/pod_sources/source.h"
#include "host/os/unique_fd.h"
#include "testing/fixtures.h"

namespace berth::pod_sources {
namespace {

using os::MonoTime;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::string PodYaml(const std::string& name, const std::string& command = "sleep") {
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name +
         "\nspec:\n  containers:\n  - name: app\n    image: local\n    command: [\"" + command + "\"]\n";
}

class FolderSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(path_);
    ::chmod(path_.c_str(), 0755);
    Open();
  }
  void Open(std::set<std::string> running = {}) {
    auto source = OpenFolder({.path = path_,
                              .node_name = "Node1",
                              .period = os::Millis(20'000),
                              .running = std::move(running),
                              .pods = options_,
                              .most_held = std::size_t{2} << 20});
    ASSERT_TRUE(source) << source.error().message;
    source_ = *std::move(source);
  }
  void Put(const std::string& name, const std::string& text) {
    std::ofstream(path_ + "/" + name) << text;
    ::chmod((path_ + "/" + name).c_str(), 0644);
  }

  /// Polls with time moving past the settling time; the last snapshot, if any.
  std::optional<Snapshot> Settle() {
    std::optional<Snapshot> last;
    for (int i = 0; i < 4; ++i) {
      if (auto s = source_->Poll(now_)) last = std::move(s);
      now_ += os::Millis(150);
    }
    return last;
  }
  static std::vector<std::string> NamesOf(const std::optional<Snapshot>& snapshot) {
    std::vector<std::string> out;
    if (snapshot)
      for (const auto& pod : snapshot->pods) out.push_back(FullName(*pod));
    return out;
  }

  testkit::TempDir dir_;
  manifest::PodOptions options_;
  std::string path_ = dir_ / "pods";
  MonoTime now_{std::chrono::hours(1)};
  std::unique_ptr<Source> source_;
};

TEST_F(FolderSourceTest, AFileThatIsTooLargeIsNotRead) {
  Put("huge.yaml", "");
  std::filesystem::resize_file(path_ + "/huge.yaml", std::uintmax_t{60} << 20);
  const auto snapshot = Settle();
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_EQ(snapshot->problems[0].message,
            path_ + "/huge.yaml: not read: larger than 10 MiB; split it into several files");
}

/// Nine ConfigMaps of 64 KiB each: there is room for those of three files.
std::string LargeDocuments(const std::string& name) {
  std::string out;
  for (int i = 0; i < 9; ++i)
    out += R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + std::to_string(i) +
           R"("},"data":{"k":")" + std::string(std::size_t{64} << 10, 'x') + "\"}}\n";
  return out;
}

TEST_F(FolderSourceTest, WhatAllFilesHoldTogetherIsBounded) {
  for (const char* const name : {"a", "b", "c"}) Put(name + std::string(".json"), LargeDocuments(name));
  Put("d.json", PodYaml("web"));
  auto snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(snapshot->problems, IsEmpty());
  EXPECT_EQ(snapshot->documents.size(), 27U);

  Put("d.json", LargeDocuments("d"));
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_EQ(snapshot->problems[0].message,
            path_ +
                "/d.json: not taken: with it all files of the folder would hold more than 2 MiB; remove some of "
                "them, or make ConfigMaps and Secrets smaller");
  EXPECT_EQ(snapshot->documents.size(), 27U);
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/web-node1")) << "as it was";
  EXPECT_TRUE(snapshot->complete);

  std::filesystem::remove(path_ + "/a.json");
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(snapshot->problems, IsEmpty()) << "there is room now";
  EXPECT_THAT(NamesOf(snapshot), IsEmpty());
  EXPECT_TRUE(snapshot->documents.contains("ConfigMap default/d0"));
  EXPECT_EQ(snapshot->documents.size(), 27U);

  Put("e.json", LargeDocuments("e"));
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->problems.size(), 1U);
  EXPECT_TRUE(snapshot->complete) << "no pod of it ever ran";
  Put("b.json", PodYaml("small"));
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(snapshot->problems, IsEmpty()) << "there is room now";
  EXPECT_TRUE(snapshot->documents.contains("ConfigMap default/e0"));
  EXPECT_TRUE(snapshot->complete);
}

/// A pod to go before LargeDocuments.
std::string PodLine(const std::string& name, const std::string& command = "sleep") {
  return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
         R"("},"spec":{"containers":[{"name":"app","image":"local","command":[")" + command + "\"]}]}}\n";
}

TEST_F(FolderSourceTest, AtAStartRoomGoesFirstToFilesWhosePodsRan) {
  Put("z.json", PodLine("ran") + LargeDocuments("z"));
  auto snapshot = Settle();
  ASSERT_THAT(NamesOf(snapshot), ElementsAre("default/ran-node1"));
  const std::string uid = snapshot->pods[0]->uid;
  EXPECT_GT(snapshot->held_bytes, std::size_t{9 * 64} << 10);
  for (const char* const name : {"a", "b", "c"}) Put(name + std::string(".json"), PodLine(name) + LargeDocuments(name));
  for (const std::string& known : {uid, snapshot->identities.at("default/ran-node1")}) {
    Open({known});
    const auto after = Settle();
    ASSERT_TRUE(after);
    EXPECT_THAT(NamesOf(after), ElementsAre("default/a-node1", "default/b-node1", "default/ran-node1"));
    ASSERT_EQ(after->problems.size(), 1U);
    EXPECT_THAT(after->problems[0].message, HasSubstr("/c.json: not taken: with it all files"));
    EXPECT_FALSE(after->documents.contains("ConfigMap default/c0"));
    EXPECT_LT(after->held_bytes, std::size_t{2} << 20);
    EXPECT_TRUE(after->complete) << "no pod of the one that is refused ever ran";
  }
  std::filesystem::remove(path_ + "/b.json");
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/a-node1", "default/c-node1", "default/ran-node1"));
}

TEST_F(FolderSourceTest, ASmallFileThatMadeRoomAtAStartIsTakenWhereItFits) {
  Put("z.json", PodLine("ran") + LargeDocuments("z"));
  auto snapshot = Settle();
  ASSERT_TRUE(snapshot);
  const std::string uid = snapshot->pods.at(0)->uid;
  for (const char* const name : {"a", "b"}) Put(name + std::string(".json"), LargeDocuments(name));
  Put("c.json", PodLine("large") + LargeDocuments("c"));
  Put("d.json", PodLine("small"));
  Open({uid});
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/ran-node1", "default/small-node1"));
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_THAT(snapshot->problems[0].message, HasSubstr("/c.json: not taken: "));
}

TEST_F(FolderSourceTest, AFileWithoutRoomWhosePodMayRunMakesTheFolderIncomplete) {
  for (const char* const name : {"a", "b", "c"}) Put(name + std::string(".json"), LargeDocuments(name));
  Put("d.json", PodLine("changed") + LargeDocuments("d"));
  Open({"uid-of-what-it-was", "default/changed-node1"});
  const auto snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(NamesOf(snapshot), IsEmpty());
  EXPECT_FALSE(snapshot->complete) << "what it held before may still run";
}

TEST_F(FolderSourceTest, WhatRanIsTakenAtAStartWhateverOthersHold) {
  Put("z.json", PodLine("ran") + LargeDocuments("z"));
  auto snapshot = Settle();
  ASSERT_TRUE(snapshot);
  const std::string uid = snapshot->pods.at(0)->uid;
  for (const char* const name : {"a", "b", "c"}) Put(name + std::string(".json"), LargeDocuments(name));
  Open({uid});
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/ran-node1"));
  EXPECT_EQ(snapshot->documents.size(), 36U) << "documents may be of pods that run";
  EXPECT_GT(snapshot->held_bytes, std::size_t{2} << 20);

  Put("z.json", PodLine("ran", "true") + LargeDocuments("z"));
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(snapshot->problems, IsEmpty()) << "it holds no more than before";
  Put("y.json", PodLine("other"));
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_THAT(snapshot->problems[0].message, HasSubstr("/y.json: not taken"));
}

TEST_F(FolderSourceTest, AnEmptyFolderIsReadyWithoutPods) {
  const auto snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(snapshot->ready);
  EXPECT_TRUE(snapshot->complete);
  EXPECT_THAT(snapshot->pods, IsEmpty());
  EXPECT_EQ(Settle(), std::nullopt) << "nothing changed";
}

TEST_F(FolderSourceTest, DocumentsLieBesidePods) {
  const std::string head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n";
  Put("a.yaml", PodYaml("web") + "---\n" + head + "data: {color: blue}\n");
  Put("b.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nimmutable: true\nstringData: {pw: one}\n");
  auto snapshot = Settle();
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/web-node1"));
  ASSERT_EQ(snapshot->documents.size(), 2U);
  EXPECT_EQ(snapshot->documents.at("ConfigMap default/app")->data.at("color"), "blue");
  EXPECT_EQ(snapshot->files.at("Secret default/key"), path_ + "/b.yaml");
  Put("b.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {pw: two}\n");
  Put("c.yaml", head + "data: {color: red}\n");
  snapshot = Settle();
  EXPECT_EQ(snapshot->documents.at("ConfigMap default/app")->data.at("color"), "blue") << "it was there before";
  EXPECT_EQ(snapshot->documents.at("Secret default/key")->data.at("pw"), "one") << "immutable";
  ASSERT_EQ(snapshot->problems.size(), 2U);
  EXPECT_THAT(snapshot->problems[0].message, HasSubstr("Secret default/key is immutable and stays as it was"));
  EXPECT_THAT(snapshot->problems[1].message,
              testing::AllOf(HasSubstr("c.yaml: ConfigMap default/app is ignored"), HasSubstr("a.yaml holds it too")));
  std::filesystem::remove(path_ + "/b.yaml");
  snapshot = Settle();
  EXPECT_FALSE(snapshot->documents.contains("Secret default/key"));
}

TEST_F(FolderSourceTest, StorageOfOneFileIsThereForThePodsOfAnother) {
  const auto volume = [](const std::string& path) {
    return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: {capacity: {storage: 1Gi}, accessModes: "
           "[ReadWriteOnce], hostPath: {path: " +
           path + "}}\n";
  };
  options_.run_by = manifest::RunBy::kProcess;
  Open();
  Put("a.yaml", PodYaml("web") + "  volumes: [{name: d, persistentVolumeClaim: {claimName: c}}]\n");
  Put("b.yaml",
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\nspec: {accessModes: [ReadWriteOnce], "
      "resources: {requests: {storage: 1Gi}}}\n");
  Put("z.yaml", volume("/one"));
  auto snapshot = Settle();
  ASSERT_THAT(NamesOf(snapshot), ElementsAre("default/web-node1")) << "files are read in any order";
  EXPECT_EQ("/one", snapshot->pods[0]->volumes[0].host_path);
  EXPECT_THAT(snapshot->problems, IsEmpty());
  EXPECT_THAT(snapshot->storage,
              testing::AllOf(HasSubstr("\"PersistentVolumeClaim\""), HasSubstr("\"path\":\"/one\"")));
  Put("z.yaml", volume("/two"));
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ("/two", snapshot->pods[0]->volumes[0].host_path);
  std::filesystem::remove(path_ + "/z.yaml");
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(1U, snapshot->problems.size());
  EXPECT_THAT(snapshot->problems[0].message, HasSubstr("a.yaml: document 1: spec.volumes[0].persistentVolumeClaim: "
                                                       "Forbidden: no PersistentVolume beside it answers"));
  EXPECT_THAT(snapshot->storage, testing::Not(HasSubstr("/two")));
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/web-node1")) << "as it was";
}

TEST_F(FolderSourceTest, AFileThatOthersCanWriteIsNotReadUntilTheyCannot) {
  Put("a.yaml", PodYaml("web"));
  Put("b.yaml", PodYaml("batch"));
  ::chmod((path_ + "/a.yaml").c_str(), 0666);
  auto snapshot = Settle();
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/batch-node1"));
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_EQ(snapshot->problems[0].message,
            path_ + "/a.yaml: not read: " + path_ +
                "/a.yaml is writable for others than its owner; if it is meant: chmod go-w " + path_ +
                "/a.yaml, or set manifestOwners: any");
  EXPECT_FALSE(snapshot->complete) << "what it held before may still run";

  ::chmod((path_ + "/a.yaml").c_str(), 0644);
  now_ += std::chrono::seconds(20);
  snapshot = Settle();
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/batch-node1", "default/web-node1"));
}

TEST_F(FolderSourceTest, AFileWithASecretThatOthersCanReadIsToldOfWhileTheyCan) {
  for (const char* const name : {"key.yaml", "open.yaml"})
    Put(name, "apiVersion: v1\nkind: Secret\nmetadata: {name: " + std::string(name) + "}\nstringData: {pw: one}\n");
  Put("web.yaml", PodYaml("web"));
  ::chmod((path_ + "/key.yaml").c_str(), 0600);
  ::chmod((path_ + "/open.yaml").c_str(), 0644);
  auto snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(snapshot->warnings, IsEmpty()) << "the folder above is for its owner only";

  ::chmod(std::filesystem::path(path_).parent_path().c_str(), 0755);
  now_ += std::chrono::seconds(20);
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->warnings.size(), 1U);
  EXPECT_EQ(snapshot->warnings[0].file, path_ + "/open.yaml");
  EXPECT_EQ(
      snapshot->warnings[0].message,
      path_ + "/open.yaml: holds a Secret and can be read by others than root: chmod 600 " + path_ + "/open.yaml");
  EXPECT_EQ(snapshot->documents.size(), 2U);

  ::chmod((path_ + "/open.yaml").c_str(), 0600);
  now_ += std::chrono::seconds(20);
  snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_THAT(snapshot->warnings, IsEmpty());
}

TEST_F(FolderSourceTest, AFolderThatOthersCanWriteIsNotReadUnlessThatIsAccepted) {
  Put("a.yaml", PodYaml("web"));
  ::chmod(path_.c_str(), 0777);
  const auto snapshot = Settle();
  EXPECT_THAT(NamesOf(snapshot), IsEmpty());
  ASSERT_FALSE(snapshot->problems.empty());
  for (const SourceProblem& problem : snapshot->problems)
    EXPECT_THAT(problem.message, HasSubstr(path_ + " is writable for others than its owner"));

  auto accepting = OpenFolder({.path = path_, .node_name = "Node1", .only_trusted = false});
  ASSERT_TRUE(accepting);
  source_ = *std::move(accepting);
  EXPECT_THAT(NamesOf(Settle()), ElementsAre("default/web-node1"));
}

TEST_F(FolderSourceTest, NamesPodsAfterTheNodeAndGivesThemAStableUid) {
  Put("a.yaml", PodYaml("web"));
  const auto first = Settle();
  ASSERT_THAT(NamesOf(first), ElementsAre("default/web-node1"));
  const Pod& pod = *first->pods[0];
  EXPECT_EQ(pod.uid.size(), 32U);
  EXPECT_EQ(pod.node_name, "node1");
  EXPECT_EQ(pod.annotations.at("kubernetes.io/config.hash"), pod.uid);
  EXPECT_EQ(pod.annotations.at("kubernetes.io/config.source"), "file");
  Open();
  const auto again = Settle();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->pods[0]->uid, pod.uid);
}

TEST_F(FolderSourceTest, AChangeOfThePodOrOfItsFileNameMakesANewUidButACommentDoesNot) {
  Put("a.yaml", PodYaml("web"));
  const std::string uid = Settle()->pods[0]->uid;
  Put("a.yaml", "# a comment\n" + PodYaml("web"));
  const auto commented = Settle();
  ASSERT_TRUE(commented);
  EXPECT_EQ(commented->pods[0]->uid, uid);
  Put("a.yaml", PodYaml("web", "true"));
  const std::string changed = Settle()->pods[0]->uid;
  EXPECT_NE(changed, uid);
  std::filesystem::rename(path_ + "/a.yaml", path_ + "/b.yaml");
  EXPECT_NE(Settle()->pods[0]->uid, changed);
}

TEST_F(FolderSourceTest, AFileThatIsRenamedToItsNameIsReadAtOnce) {
  ASSERT_TRUE(Settle());
  Put(".new", PodYaml("web"));
  EXPECT_FALSE(source_->Poll(now_));
  std::filesystem::rename(path_ + "/.new", path_ + "/a.yaml");
  EXPECT_THAT(NamesOf(source_->Poll(now_)), ElementsAre("default/web-node1"));

  Put("b.yaml", PodYaml("batch"));
  EXPECT_FALSE(source_->Poll(now_)) << "more may be written to it";
  EXPECT_EQ(2U, NamesOf(Settle()).size());

  std::filesystem::rename(path_ + "/b.yaml", path_ + "/c.yaml");
  EXPECT_FALSE(source_->Poll(now_)) << "not in two files at a time";
  const auto moved = Settle();
  EXPECT_EQ(2U, NamesOf(moved).size());
  EXPECT_THAT(moved->problems, IsEmpty());
}

TEST_F(FolderSourceTest, AFileRemovedAndPutBackAtOnceTakesItsPodsAwayFirst) {
  Put("a.yaml", PodYaml("web"));
  ASSERT_THAT(NamesOf(Settle()), ElementsAre("default/web-node1"));
  std::filesystem::remove(path_ + "/a.yaml");
  Put("a.yaml", PodYaml("web"));
  std::vector<std::vector<std::string>> seen;
  for (int i = 0; i < 6; ++i, now_ += os::Millis(50))
    if (const auto snapshot = source_->Poll(now_)) seen.push_back(NamesOf(snapshot));
  EXPECT_THAT(seen, ElementsAre(IsEmpty(), ElementsAre("default/web-node1")));
  Put(".new", PodYaml("web"));
  std::filesystem::rename(path_ + "/.new", path_ + "/a.yaml");
  EXPECT_EQ(Settle(), std::nullopt) << "a file put in its place with the same content is no other pod";
}

TEST_F(FolderSourceTest, FollowsAddChangeRemoveByEvents) {
  ASSERT_TRUE(Settle());
  Put("a.yaml", PodYaml("a"));
  pollfd poll{.fd = source_->event_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&poll, 1, 5'000), 1) << "inotify wakes the loop";
  EXPECT_THAT(NamesOf(Settle()), ElementsAre("default/a-node1"));
  Put("b.yaml", PodYaml("b") + "---\n" + PodYaml("c"));
  EXPECT_THAT(NamesOf(Settle()), ElementsAre("default/a-node1", "default/b-node1", "default/c-node1"));
  std::filesystem::remove(path_ + "/a.yaml");
  EXPECT_THAT(NamesOf(Settle()), ElementsAre("default/b-node1", "default/c-node1"));
}

TEST_F(FolderSourceTest, ABrokenFileKeepsItsLastGoodPodsAndTheOthersGoOn) {
  Put("a.yaml", PodYaml("a"));
  Put("b.yaml", PodYaml("b"));
  ASSERT_TRUE(Settle());
  Put("a.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n");
  Put("c.yaml", PodYaml("c"));
  const auto snapshot = Settle();
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/a-node1", "default/b-node1", "default/c-node1"));
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_THAT(snapshot->problems[0].file, HasSubstr("a.yaml"));
  EXPECT_THAT(snapshot->problems[0].message, HasSubstr("spec.containers"));
  EXPECT_TRUE(snapshot->complete);
  Put("a.yaml", PodYaml("a"));
  EXPECT_THAT(Settle()->problems, IsEmpty());
}

TEST_F(FolderSourceTest, AFileThatWasNeverReadWellMakesTheSnapshotIncomplete) {
  Put("a.yaml", "{{{");
  const auto snapshot = Settle();
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(snapshot->ready);
  EXPECT_FALSE(snapshot->complete);
  std::filesystem::remove(path_ + "/a.yaml");
  EXPECT_TRUE(Settle()->complete);
}

TEST_F(FolderSourceTest, AHalfWrittenFileIsLeftAloneUntilItIsClosed) {
  ASSERT_TRUE(Settle());
  const os::UniqueFd fd(::open((path_ + "/a.yaml").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  ASSERT_TRUE(fd.valid());
  const std::string text = PodYaml("a");
  ASSERT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(Settle(), std::nullopt) << "somebody still writes";
  {
    os::UniqueFd closing(::dup(fd.get()));
  }
  ::close(const_cast<os::UniqueFd&>(fd).release());
  EXPECT_THAT(NamesOf(Settle()), ElementsAre("default/a-node1"));
}

TEST_F(FolderSourceTest, TheFirstSnapshotWaitsForFilesBeingWrittenButNotForEver) {
  const os::UniqueFd fd(::open((path_ + "/a.yaml").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  EXPECT_EQ(Settle(), std::nullopt);
  now_ += os::Millis(6'000);
  const auto late = Settle();
  ASSERT_TRUE(late);
  EXPECT_TRUE(late->ready);
  EXPECT_FALSE(late->complete) << "its pods may run: nobody knows yet that they are not wanted";
  std::filesystem::remove(path_ + "/a.yaml");
  const auto gone = Settle();
  ASSERT_TRUE(gone) << "that nothing is missing any more is news";
  EXPECT_TRUE(gone->complete);
}

TEST_F(FolderSourceTest, AFileThatOneListingMissesKeepsItsPods) {
  Put("a.yaml", PodYaml("a"));
  ASSERT_TRUE(Settle());
  std::filesystem::rename(path_ + "/a.yaml", dir_ / "aside");
  now_ += os::Millis(20'000);
  EXPECT_EQ(source_->Poll(now_), std::nullopt) << "listed without a.yaml, which is not quiet yet";
  std::filesystem::rename(dir_ / "aside", path_ + "/a.yaml");
  EXPECT_EQ(Settle(), std::nullopt) << "as if nothing had happened";
  std::filesystem::remove(path_ + "/a.yaml");
  EXPECT_THAT(NamesOf(Settle()), IsEmpty());
}

TEST_F(FolderSourceTest, ALinkThatLeadsNowhereIsAProblemAndFreesNothing) {
  const std::string target = dir_ / "target.yaml";
  std::ofstream(target) << PodYaml("linked");
  std::filesystem::create_symlink(target, path_ + "/a.yaml");
  ASSERT_THAT(NamesOf(Settle()), ElementsAre("default/linked-node1"));
  std::filesystem::remove(target);
  now_ += os::Millis(20'000);
  const auto dangling = Settle();
  ASSERT_THAT(NamesOf(dangling), ElementsAre("default/linked-node1"));
  ASSERT_EQ(dangling->problems.size(), 1U);
  EXPECT_THAT(dangling->problems[0].message, HasSubstr("link"));
  EXPECT_TRUE(dangling->complete);
  Open();
  const auto fresh = Settle();
  ASSERT_TRUE(fresh);
  EXPECT_FALSE(fresh->complete) << "never read well";
}

TEST_F(FolderSourceTest, AFileThatGoesTogetherWithItsFolderFreesNothing) {
  Put("a.yaml", PodYaml("a"));
  ASSERT_TRUE(Settle());
  Put("a.yaml", PodYaml("a", "true"));
  EXPECT_EQ(source_->Poll(now_), std::nullopt) << "not quiet yet";
  std::filesystem::rename(path_, path_ + ".away");
  const auto gone = Settle();
  ASSERT_THAT(NamesOf(gone), ElementsAre("default/a-node1"));
  ASSERT_EQ(gone->problems.size(), 1U);
  EXPECT_EQ(gone->problems[0].message, "the pod folder " + path_ +
                                           " is missing: put it back, or make an empty one (mkdir " + path_ +
                                           ") if the pods that came from it are to end; until then they stay");
}

TEST_F(FolderSourceTest, OneUidForTwoPodsIsAProblemAndTheFirstFileKeepsIt) {
  const auto with_uid = [](const std::string& name) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           ", uid: same-1}\nspec: {containers: [{name: app, image: local}]}\n";
  };
  Put("a.yaml", with_uid("zebra"));
  Put("b.yaml", with_uid("ant"));
  const auto snapshot = Settle();
  ASSERT_THAT(NamesOf(snapshot), ElementsAre("default/zebra-node1"));
  EXPECT_EQ(snapshot->files.size(), 1U);
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_THAT(snapshot->problems[0].file, HasSubstr("b.yaml"));
  EXPECT_THAT(snapshot->problems[0].message, testing::AllOf(HasSubstr("a.yaml"), HasSubstr("b.yaml")));
}

TEST_F(FolderSourceTest, LeftoversOfEditorsAndPackageManagersAreIgnored) {
  ASSERT_TRUE(Settle());
  for (const char* name :
       {".a.yaml.swp",      "a.yaml~",         "#a.yaml#",        ".#a.yaml",       "a.yaml.bak",
        "a.yaml.tmp",       "a.yaml.backup",   "a.yaml-bak",      "a.yaml.old",     "a.yaml.orig",
        "a.yaml.save",      "a.yaml.rpmsave",  "a.yaml.rpmnew",   "a.yaml.rpmorig", "a.yaml.dpkg-old",
        "a.yaml.dpkg-dist", "a.yaml.dpkg-new", "a.yaml.dpkg-tmp", "a.yaml.ucf-old", "a.yaml.pacnew"})
    Put(name, PodYaml("x"));
  std::filesystem::create_directory(path_ + "/sub");
  EXPECT_THAT(NamesOf(Settle()), IsEmpty());
  Put(".new", PodYaml("a"));
  std::filesystem::rename(path_ + "/.new", path_ + "/a.yaml");  // how editors and kubectl-like tools replace a file
  const auto snapshot = Settle();
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/a-node1"));
  EXPECT_THAT(snapshot->problems, IsEmpty());
}

TEST_F(FolderSourceTest, AMissingFolderFreesNothingAndIsFoundAgain) {
  Put("a.yaml", PodYaml("a"));
  ASSERT_TRUE(Settle());
  std::filesystem::rename(path_, path_ + ".away");
  now_ += os::Millis(20'000);
  const auto gone = Settle();
  ASSERT_TRUE(gone);
  EXPECT_THAT(NamesOf(gone), ElementsAre("default/a-node1"));
  ASSERT_EQ(gone->problems.size(), 1U);
  EXPECT_THAT(gone->problems[0].message,
              testing::AllOf(HasSubstr("make an empty one (mkdir " + path_ + ")"),
                             testing::EndsWith("until then they stay"), testing::Not(HasSubstr("manifestOwners"))));
  std::filesystem::rename(path_ + ".away", path_);
  now_ += os::Millis(2'000);
  const auto back = Settle();
  ASSERT_TRUE(back);
  EXPECT_THAT(back->problems, IsEmpty());
  Put("b.yaml", PodYaml("b"));
  EXPECT_THAT(NamesOf(Settle()), ElementsAre("default/a-node1", "default/b-node1")) << "watched again";
}

TEST_F(FolderSourceTest, APodWhoseFileDidNotChangeIsTheSameObject) {
  Put("a.yaml", PodYaml("a"));
  const auto before = Settle();
  Put("b.yaml", PodYaml("b"));
  const auto after = Settle();
  ASSERT_THAT(NamesOf(after), ElementsAre("default/a-node1", "default/b-node1"));
  EXPECT_EQ(after->pods[0], before->pods[0]);
}

TEST_F(FolderSourceTest, OfTwoFilesThatComeTogetherWithOnePodTheFirstCountsAndTheOtherIsAProblem) {
  Put("a.yaml", PodYaml("x", "one"));
  Put("b.yaml", PodYaml("x", "two"));
  const auto snapshot = Settle();
  ASSERT_THAT(NamesOf(snapshot), ElementsAre("default/x-node1"));
  EXPECT_THAT(snapshot->pods[0]->containers[0].command, ElementsAre("one"));
  EXPECT_EQ(snapshot->files.at("default/x-node1"), path_ + "/a.yaml");
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_EQ(snapshot->problems[0].file, path_ + "/b.yaml");
  EXPECT_THAT(snapshot->problems[0].message, testing::AllOf(HasSubstr(path_ + "/b.yaml: default/x-node1 is ignored"),
                                                            HasSubstr(path_ + "/a.yaml holds it too")));
}

TEST_F(FolderSourceTest, ASecondFileOfAPodChangesNothingAndTheFirstOneCanBeEdited) {
  for (const char* second : {"a.yaml", "z.yaml"}) {
    Put("m.yaml", PodYaml("x", "one"));
    const auto before = Settle();
    ASSERT_THAT(NamesOf(before), ElementsAre("default/x-node1"));
    Put(second, PodYaml("x", "copy"));
    const auto beside = Settle();
    ASSERT_THAT(NamesOf(beside), ElementsAre("default/x-node1")) << second;
    EXPECT_EQ(beside->pods[0], before->pods[0]) << second;
    ASSERT_EQ(beside->problems.size(), 1U);
    EXPECT_EQ(beside->problems[0].file, path_ + "/" + second);
    Put("m.yaml", PodYaml("x", "edited"));
    const auto edited = Settle();
    ASSERT_THAT(NamesOf(edited), ElementsAre("default/x-node1")) << second;
    EXPECT_THAT(edited->pods[0]->containers[0].command, ElementsAre("edited")) << second;
    std::filesystem::remove(path_ + "/m.yaml");
    const auto left = Settle();
    ASSERT_THAT(NamesOf(left), ElementsAre("default/x-node1")) << second;
    EXPECT_THAT(left->pods[0]->containers[0].command, ElementsAre("copy")) << "it is the only one now";
    EXPECT_THAT(left->problems, IsEmpty());
    std::filesystem::remove(path_ + "/" + second);
    ASSERT_THAT(NamesOf(Settle()), IsEmpty());
  }
}

TEST_F(FolderSourceTest, AFileOfThePodThatRanBeforeTheStartCountsWhateverCameMeanwhile) {
  Put("m.yaml", PodYaml("x", "one"));
  const auto before = Settle();
  ASSERT_THAT(NamesOf(before), ElementsAre("default/x-node1"));
  const std::string identity = before->identities.at("default/x-node1");
  Put("a.yaml", PodYaml("x", "copy"));
  for (const std::string& known : {before->pods[0]->uid, identity}) {
    Open({known});
    const auto after = Settle();
    ASSERT_THAT(NamesOf(after), ElementsAre("default/x-node1"));
    EXPECT_EQ(after->files.at("default/x-node1"), path_ + "/m.yaml") << known;
  }
}

TEST_F(FolderSourceTest, AUidThatIsTakenStaysWithThePodThatHasIt) {
  const auto with_uid = [](const std::string& name) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           ", uid: same-1}\nspec: {containers: [{name: app, image: local}]}\n";
  };
  Put("b.yaml", with_uid("zebra"));
  ASSERT_THAT(NamesOf(Settle()), ElementsAre("default/zebra-node1"));
  Put("a.yaml", with_uid("ant"));
  const auto snapshot = Settle();
  ASSERT_THAT(NamesOf(snapshot), ElementsAre("default/zebra-node1"));
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_EQ(snapshot->problems[0].file, path_ + "/a.yaml");
}

TEST_F(FolderSourceTest, APodWhoseNameIsTooLongForItsLogFolderIsAProblemOfItsFile) {
  Put("a.yaml", PodYaml(std::string(208, 'a')));
  Put("b.yaml", PodYaml(std::string(209, 'b')));
  const auto snapshot = Settle();
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/" + std::string(208, 'a') + "-node1"));
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_EQ(snapshot->problems[0].file, path_ + "/b.yaml");
  EXPECT_THAT(snapshot->problems[0].message, HasSubstr(path_ + "/b.yaml: document 1: metadata.name: Invalid value: "));
}

TEST_F(FolderSourceTest, ASymbolicLinkIsFollowedAndAPipeIsAProblem) {
  std::ofstream(dir_ / "target.yaml") << PodYaml("linked");
  std::filesystem::create_symlink(dir_ / "target.yaml", path_ + "/a.yaml");
  ASSERT_EQ(::mkfifo((path_ + "/pipe.yaml").c_str(), 0600), 0);
  const auto snapshot = Settle();
  EXPECT_THAT(NamesOf(snapshot), ElementsAre("default/linked-node1"));
  ASSERT_EQ(snapshot->problems.size(), 1U);
  EXPECT_THAT(snapshot->problems[0].message, HasSubstr("not a regular file"));
}

TEST_F(FolderSourceTest, ReadsASingleFileToo) {
  Put("a.yaml", PodYaml("a"));
  Put("b.yaml", PodYaml("b"));
  path_ += "/a.yaml";
  Open();
  EXPECT_THAT(NamesOf(Settle()), ElementsAre("default/a-node1"));
}

}  // namespace
}  // namespace berth::pod_sources
