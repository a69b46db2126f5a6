// Small parts of the daemon: events, notification, own group, pod folder, times.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "daemon/dry_run.h"
#include "daemon/event_list.h"
#include "daemon/local_api.h"
#include "daemon/machine_fingerprint.h"
#include "daemon/memory_mark.h"
#include "daemon/notify.h"
#include "daemon/own_group.h"
#include "daemon/pod_folder.h"
#include "frontend/pod_sources/source.h"
#include "host/machine/load_machine.h"
#include "telemetry/events/event_log.h"
#include "testing/fixtures.h"

namespace berth::daemon {
namespace {

TEST(EventLogTest, RepetitionsAreCountedAndTheListIsBounded) {
  testkit::ManualClock clock;
  events::EventLog events(clock, nullptr, 3);
  events.Normal("Started", "pod/a", "one");
  events.Warning("BackOff", "pod/a", "again");
  events.Warning("BackOff", "pod/a", "again");
  ASSERT_EQ(events.events().size(), 2U);
  EXPECT_EQ(events.events().back().count, 2U);
  for (int i = 0; i < 5; ++i) events.Normal("Started", "pod/a", std::to_string(i));
  EXPECT_EQ(events.events().size(), 3U);
  EXPECT_EQ(events.events().front().message, "2");
}

Event Numbered(std::int64_t id, const std::string& object, int second) {
  return {.id = id, .time = os::WallTime(std::chrono::seconds(second)), .reason = "Started", .object = object};
}

TEST(EventLogTest, IdsGrowAndRepetitionsKeepTheirs) {
  testkit::ManualClock clock;
  events::EventLog events(clock, nullptr, 3);
  std::vector<Event> sunk;
  events.set_sink([&](const Event& event) { sunk.push_back(event); });
  events.Normal("Started", "pod/a", "one");
  events.Normal("Started", "pod/a", "two");
  events.Normal("Started", "pod/a", "one");
  ASSERT_EQ(sunk.size(), 3U);
  EXPECT_EQ(sunk[0].id, clock.Wall().time_since_epoch().count());
  EXPECT_EQ(sunk[1].id, sunk[0].id + 1) << "the clock stood still";
  EXPECT_EQ(sunk[2].id, sunk[0].id);
  EXPECT_EQ(sunk[2].count, 2U);
}

TEST(EventListTest, MemoryAndHistoryBecomeOneList) {
  testkit::TempDir temp;
  auto history = history::History::Start({.folder = temp / "history"});
  ASSERT_TRUE(history);
  Event old = Numbered(1, "pod/default/web-n1", 1);
  const Event other = Numbered(2, "pod/default/db-n1", 2);
  const Event recent = Numbered(3, "pod/default/web-n1", 3);
  for (const Event& event : {old, other, recent}) (*history)->Record(ToEntry(event));
  ASSERT_TRUE((*history)->Drain(os::Millis(20'000)));
  old.count = 5;  // repeated since, and not written yet
  old.time = os::WallTime(std::chrono::seconds(4));
  const EventFilter web{.pod_names = {"web-n1"}};
  const EventList found = WithHistory({old}, web, history->get());
  ASSERT_EQ(found.events.size(), 2U);
  EXPECT_EQ(found.events[0].id, 3);
  EXPECT_EQ(found.events[1].count, 5U);
  EXPECT_FALSE(found.left_out);
  const EventList newest = WithHistory({}, {.limit = 1}, history->get());
  ASSERT_EQ(newest.events.size(), 1U);
  EXPECT_EQ(newest.events[0].id, 3);
  EXPECT_TRUE(newest.left_out);
  EXPECT_EQ(WithHistory({old}, web, nullptr).events.size(), 1U);
}

TEST(EventListTest, WithoutADatabaseMemoryAnswers) {
  testkit::TempDir temp;
  std::filesystem::create_directories(temp / "history/events.db");  // a folder in its place
  auto history = history::History::Start({.folder = temp / "history"});
  ASSERT_TRUE(history);
  const EventList found = WithHistory({Numbered(2, "pod/a/b", 2)}, {}, history->get());
  EXPECT_EQ(found.events.size(), 1U);
  EXPECT_NE(found.problem.find("events.db"), std::string::npos) << found.problem;
}

TEST(NotifierTest, SendsToTheSocketAndIsSilentWithoutOne) {
  testkit::TempDir temp;
  const std::string path = temp / "notify";
  const os::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  ::setenv("WATCHDOG_USEC", "10000000", 1);
  const Notifier notifier = Notifier::FromEnvironment();
  notifier.Send("READY=1");
  std::array<char, 64> buffer{};
  const auto receive = [&] { return ::recv(fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT); };
  const ssize_t size = receive();
  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string(buffer.data(), static_cast<std::size_t>(size)), "READY=1");
  EXPECT_EQ(notifier.watchdog_period(), os::Millis(5000));
  ::setenv("WATCHDOG_PID", "1", 1);  // meant for another process
  EXPECT_FALSE(Notifier::FromEnvironment().watchdog_period());
  Notifier().Send("READY=1");
  ::unsetenv("NOTIFY_SOCKET");
  Notifier::FromEnvironment().Send("READY=1");
  EXPECT_EQ(-1, receive());
  ::unsetenv("WATCHDOG_USEC");
  ::unsetenv("WATCHDOG_PID");
}

TEST(MemoryMarkTest, GrowthCountsFromTheLeastThatWasHeldSinceTheMark) {
  MemoryMark memory;
  memory.Mark(MiB(40));
  EXPECT_FALSE(memory.Grown(MiB(47)));
  EXPECT_TRUE(memory.Grown(MiB(48)));
  EXPECT_TRUE(memory.Grown(MiB(48))) << "until it is given back";
  EXPECT_FALSE(memory.Grown(MiB(20)));
  EXPECT_TRUE(memory.Grown(MiB(30)));
  memory.Mark(MiB(30));
  EXPECT_FALSE(memory.Grown(MiB(37)));
}

TEST(OwnGroupTest, FindsTheGroupInEachHierarchy) {
  cgroup::Layout layout;
  layout.controllers = {{.controller = "cpuset", .mount = "/c/cpuset"},
                        {.controller = "cpu", .mount = "/c/cpu"},
                        {.controller = "memory", .mount = "/c/memory"},
                        {.controller = "hugetlb", .mount = "/c/unified", .v2 = true}};
  const std::string text = "4:cpuset:/\n3:cpu,cpuacct:/system/a:b\n0::/user.slice\n";
  EXPECT_EQ(CurrentGroups(layout, text),
            (std::vector<std::string>{"/c/cpuset", "/c/cpu/system/a:b", "/c/memory", "/c/unified/user.slice"}));
}

TEST(OwnGroupTest, OfAPartOfAHierarchyTheMountPointShowsOnlyWhatIsInIt) {
  cgroup::Layout layout;
  layout.controllers = {{.controller = "cpuset", .mount = "/c/cpuset", .root = "/outer"},
                        {.controller = "cpu", .mount = "/c/cpu", .root = "/out"}};
  EXPECT_EQ(CurrentGroups(layout, "4:cpuset:/outer/a\n3:cpu,cpuacct:/outer/a\n"),
            (std::vector<std::string>{"/c/cpuset/a", "/c/cpu"}));
}

Pod Named(const std::string& name) {
  Pod pod;
  pod.name = name;
  Container& container = pod.containers.emplace_back();
  container.name = "app";
  container.image = "i";
  container.image_pull_policy = "Always";
  return pod;
}

TEST(PodFolderTest, APodOfAUrlIsChangedThereAndNotHere) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  const ManifestFiles files = {{"default/web-n1", "http://host/pods"}};
  const auto stored = folder.Store({Named("web")}, files);
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, Code::kConflict);
  EXPECT_NE(stored.error().message.find("comes from http://host/pods; change it there"), std::string::npos);
  const auto removed = folder.Remove("default/web-n1", files);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().code, Code::kConflict);
}

TEST(PodFolderTest, StoresReplacesAndRemovesFiles) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  const auto created = folder.Store({Named("web"), Named("db")}, {});
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ((*created)[0].file, temp / "default_web.yaml");
  EXPECT_EQ((*created)[0].name, "web-n1");
  EXPECT_EQ((*created)[0].action, StoreAction::kCreated);
  const ManifestFiles files = {{"default/web-n1", temp / "default_web.yaml"}};
  EXPECT_EQ((*folder.Store({Named("web")}, files))[0].action, StoreAction::kUnchanged);
  Pod changed = Named("web");
  changed.termination_grace_s = 1;
  EXPECT_EQ((*folder.Store({changed}, files))[0].action, StoreAction::kConfigured);
  ASSERT_TRUE(folder.Remove("default/web-n1", files));
  EXPECT_NE(::access((temp / "default_web.yaml").c_str(), F_OK), 0);
}

TEST(PodFolderTest, ALookSaysWhatWouldBeStoredAndWhatNotAndWritesNothing) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  ASSERT_TRUE(folder.Store({Named("web")}, {}));
  Pod changed = Named("web");
  changed.termination_grace_s = 1;
  const StoredPods would = folder.Look({changed, Named("db")}, {});
  EXPECT_TRUE(would.problems.empty());
  ASSERT_EQ(would.results.size(), 2U);
  EXPECT_EQ(would.results[0].action, StoreAction::kConfigured);
  EXPECT_EQ(would.results[1].action, StoreAction::kCreated);
  EXPECT_EQ(would, folder.Look({changed, Named("db")}, {})) << "nothing was changed by it";
  EXPECT_NE(::access((temp / "default_db.yaml").c_str(), F_OK), 0);
  EXPECT_EQ(folder.Remove("default/db-n1", {}).error().code, Code::kNotFound);
  EXPECT_EQ((*folder.Store({Named("web")}, {}))[0].action, StoreAction::kUnchanged);
  const StoredPods twice = folder.Look({Named("a"), Named("a")}, {});
  EXPECT_EQ(twice.results.size(), 1U);
  EXPECT_EQ(twice.problems, std::vector<std::string>{"default/a-n1 stands in the request twice"});
}

TEST(PodFolderTest, AllThatCannotBeStoredIsTold) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  ConfigDocument fixed{.name = "fixed", .data = {{"k", "v"}}, .immutable = true};
  ASSERT_TRUE(folder.Store({}, {}, {fixed}));
  fixed.data["k"] = "other";
  std::ofstream(temp / "default_web.yaml") << "a: [";
  const Pod long_name = Named(std::string(240, 'a'));
  const auto stored = folder.Store({Named("web"), long_name, Named("db")}, {}, {fixed});
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, Code::kConflict) << "of the first";
  const std::string& said = stored.error().message;
  EXPECT_EQ(2, std::ranges::count(said, '\n')) << said;
  EXPECT_TRUE(said.starts_with("ConfigMap default/fixed is immutable")) << said;
  EXPECT_NE(said.find("\n" + temp / "default_web.yaml is there already"), std::string::npos) << said;
  EXPECT_NE(said.find("bytes in its name"), std::string::npos) << said;
  EXPECT_NE(::access((temp / "default_db.yaml").c_str(), F_OK), 0) << "all or none";
  const StoredPods look = folder.Look({Named("web"), long_name, Named("db")}, {}, {fixed});
  ASSERT_EQ(look.results.size(), 1U);
  EXPECT_EQ(look.results[0].name, "db-n1");
  EXPECT_EQ(look.problems.size(), 3U);
}

TEST(PodFolderTest, AFileWithPersistentVolumesIsNotReplaced) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  std::ofstream(temp / "default_web.yaml")
      << "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: app, image: i}]}\n---\n"
         "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec: {capacity: {storage: 1Gi}, accessModes: "
         "[ReadWriteOnce], hostPath: {path: /v}}\n";
  const auto stored = folder.Store({Named("web")}, {});
  ASSERT_FALSE(stored);
  EXPECT_NE(stored.error().message.find("holds PersistentVolumes or claims"), std::string::npos);
}

TEST(PodFolderTest, DocumentsAreStoredForRootAloneAndRemoved) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  ConfigDocument secret{.kind = DocumentKind::kSecret, .name = "key", .data = {{"pw", std::string("\0x", 2)}}};
  const auto stored = folder.Store({Named("web")}, {}, {secret});
  ASSERT_TRUE(stored) << stored.error().message;
  ASSERT_EQ(stored->size(), 2U);
  EXPECT_EQ(stored->front().kind, "Secret");
  EXPECT_EQ(stored->front().file, temp / "secret_default_key.json");
  struct stat is{};
  ASSERT_EQ(::stat((temp / "secret_default_key.json").c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 0777, 0600U);
  EXPECT_EQ((*folder.Store({}, {}, {secret}))[0].action, StoreAction::kUnchanged);
  secret.immutable = true;
  EXPECT_EQ((*folder.Store({}, {}, {secret}))[0].action, StoreAction::kConfigured);
  secret.data["pw"] = "other";
  const auto refused = folder.Store({}, {}, {secret});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_EQ(folder.RemoveDocument(DocumentKind::kSecret, "default", "key", {}).value_or(""),
            temp / "secret_default_key.json");
  EXPECT_EQ(folder.RemoveDocument(DocumentKind::kSecret, "default", "key", {}).error().code, Code::kNotFound);
  EXPECT_EQ(folder.RemoveDocument(DocumentKind::kSecret, "default", "../x", {}).error().code, Code::kNotFound);
}

TEST(PodFolderTest, WhatWasStoredCanBeRemovedBeforeAnybodyHasReadIt) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  const std::string own = temp / "mine.yaml";
  std::ofstream(own)
      << "apiVersion: v1\nkind: Pod\nmetadata: {name: db}\nspec: {containers: [{name: app, image: i}]}\n";
  ASSERT_TRUE(folder.Store({Named("web"), Named("db")}, {{"default/db-n1", own}}));
  EXPECT_EQ(folder.Remove("default/web-n1", {}).value_or(""), temp / "default_web.yaml");
  EXPECT_EQ(folder.Remove("default/web-n1", {}).error().code, Code::kNotFound) << "once";
  EXPECT_EQ(folder.Remove("default/db-n1", {}).value_or(""), own) << "where it was stored, though nobody knows it now";
  ASSERT_TRUE(folder.Store({Named("web")}, {{"default/web-n1", temp / "moved.yaml"}}));
  EXPECT_EQ(folder.Remove("default/web-n1", {{"default/web-n1", temp / "gone.yaml"}}).value_or(""),
            temp / "moved.yaml");
  const PodFolder later(temp.path(), "n1");
  ASSERT_TRUE(folder.Store({Named("web")}, {}));
  EXPECT_EQ(later.Remove("default/other-n1", {}).error().code, Code::kNotFound);
  EXPECT_EQ(later.Remove("default/web-n1", {}).value_or(""), temp / "default_web.yaml") << "of an earlier berthd";
}

TEST(PodFolderTest, RefusesWhatWouldHitOthers) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  const ManifestFiles shared = {{"default/web-n1", temp / "all.yaml"}, {"default/db-n1", temp / "all.yaml"}};
  EXPECT_EQ(folder.Store({Named("web")}, shared).error().code, Code::kConflict);
  EXPECT_EQ(folder.Remove("default/web-n1", shared).error().code, Code::kConflict);
  EXPECT_EQ(folder.Remove("default/none-n1", shared).error().code, Code::kNotFound);
  EXPECT_EQ(folder.Store({Named("../x")}, {}).error().code, Code::kInvalid);
  EXPECT_EQ(folder.Store({Named("a"), Named("a")}, {}).error().code, Code::kInvalid);
  EXPECT_NE(::access((temp / "default_a.yaml").c_str(), F_OK), 0) << "all or none";
}

TEST(PodFolderTest, WhatHasNoRoomInAFileNameIsRefusedBeforeAnythingIsStored) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  ConfigDocument document;
  document.namespace_ = "default";
  document.name = std::string(227, 'a');  // configmap_default_….json: 250 bytes
  ASSERT_TRUE(folder.Store({}, {}, {document}));
  document.name += 'a';
  const auto stored = folder.Store({Named("web")}, {}, {document});
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, Code::kInvalid);
  EXPECT_NE(stored.error().message.find("251 bytes"), std::string::npos) << stored.error().message;
  EXPECT_NE(::access((temp / "default_web.yaml").c_str(), F_OK), 0) << "all or none";
}

TEST(PodFolderTest, WhatHasNoRoomInTheFolderIsRefused) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  const std::string why =
      "request: not taken: with it all files of the folder would hold more than 32 MiB; remove some of them, or make "
      "ConfigMaps and Secrets smaller";
  const std::size_t nearly = pod_sources::kMostHeldBytes - 20'000;
  ConfigDocument document{.name = "c", .data = {{"k", std::string(15'000, 'x')}}};
  ASSERT_TRUE(folder.Store({}, {}, {document}, nearly));
  ConfigDocument another{.name = "d", .data = {{"k", std::string(15'000, 'x')}}};
  const auto refused = folder.Store({}, {}, {another}, nearly);
  ASSERT_FALSE(refused) << "the first one counts before it was read";
  EXPECT_EQ(refused.error().code, Code::kExhausted);
  EXPECT_EQ(refused.error().message, why);
  EXPECT_NE(::access((temp / "configmap_default_d.json").c_str(), F_OK), 0);
  EXPECT_EQ(folder.Look({}, {}, {another}, nearly).problems, std::vector<std::string>{why});
  const ManifestFiles files = {{"ConfigMap default/c", temp / "configmap_default_c.json"}};
  EXPECT_FALSE(folder.Store({}, files, {another}, nearly + 15'500)) << "the first one is among what is held";
  EXPECT_TRUE(folder.Store({}, files, {another}, nearly));

  EXPECT_EQ((*folder.Store({}, files, {document}, 2 * nearly))[0].action, StoreAction::kUnchanged);
  document.data["k"].resize(10);
  EXPECT_EQ((*folder.Store({}, files, {document}, 2 * nearly))[0].action, StoreAction::kConfigured) << "it holds less";
  document.data["k"].resize(20, 'x');
  EXPECT_FALSE(folder.Store({}, files, {document}, 2 * nearly));
  EXPECT_FALSE(folder.Store({Named("web")}, files, {}, 2 * nearly));
}

TEST(PodFolderTest, DoesNotReplaceAFileThatHoldsAnythingElse) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  const std::string file = temp / "default_web.yaml";
  const ManifestFiles known = {{"default/web-n1", file}};
  const auto pod = [](const std::string& name) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: app, image: i}]}\n";
  };
  for (const std::string& text :
       {pod("other"), pod("web") + "---\n" + pod("other"), std::string("a: ["), std::string()}) {
    std::ofstream(file) << text;
    for (const ManifestFiles& files : {ManifestFiles(), known}) {
      const auto stored = folder.Store({Named("db"), Named("web")}, files);
      ASSERT_FALSE(stored) << text;
      EXPECT_EQ(stored.error().code, Code::kConflict);
      EXPECT_NE(stored.error().message.find(file), std::string::npos) << stored.error().message;
      EXPECT_NE(stored.error().message.find("move it"), std::string::npos) << stored.error().message;
    }
    EXPECT_NE(::access((temp / "default_db.yaml").c_str(), F_OK), 0) << "all or none";
  }
  std::ofstream(file) << pod("web");
  Pod changed = Named("web");
  changed.termination_grace_s = 1;
  EXPECT_EQ((*folder.Store({changed}, {}))[0].action, StoreAction::kConfigured)
      << "exactly this pod, though not known yet";
  ASSERT_EQ(::unlink(file.c_str()), 0);
  ASSERT_EQ(::symlink("nowhere", file.c_str()), 0);
  EXPECT_EQ(folder.Store({Named("web")}, {}).error().code, Code::kConflict);
}

TEST(PodFolderTest, ManyMayStoreTheSamePodAtOnce) {
  testkit::TempDir temp;
  const PodFolder folder(temp.path(), "n1");
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&, i] {
      Pod pod = Named("web");
      for (int k = 0; k < 25; ++k) {
        pod.termination_grace_s = 100 * i + k;
        const auto stored = folder.Store({pod}, {});
        EXPECT_TRUE(stored) << stored.error().message;
      }
    });
  for (std::thread& caller : callers) caller.join();
}

TEST(ParseSinceTest, TakesTimesAndDurations) {
  const os::WallTime now = testkit::ManualClock().Wall();
  EXPECT_EQ(*ParseSince("10m", now), now - std::chrono::minutes(10));
  EXPECT_EQ(*ParseSince("1h30m", now), now - std::chrono::minutes(90));
  EXPECT_EQ(*ParseSince("2026-01-02T00:00:00Z", now), now);
  for (const char* bad : {"", "10", "m", "-5m", "10y", "yesterday", "99999999999s"})
    EXPECT_FALSE(ParseSince(bad, now)) << bad;
}

TEST(FingerprintTest, ChangesWithCpusAndMemoryOnly) {
  auto machine = machine::ParseSynthetic("pack:1 core:4 pu:1");
  ASSERT_TRUE(machine);
  const std::string before = MachineFingerprint(*machine);
  machine->source = "elsewhere";
  machine->boot_id = "another";
  EXPECT_EQ(MachineFingerprint(*machine), before);
  machine->nodes.front().memory += MiB(1);
  EXPECT_NE(MachineFingerprint(*machine), before);
}

TEST(DryRunTest, GroupsHoldEachValueThatWasWritten) {
  Machine machine = *machine::ParseSynthetic("pack:1 core:4 pu:1");
  machine.hugepages = {{MiB(2), 8}, {GiB(1), 1}};
  DryRunTree tree(machine);
  ASSERT_TRUE(tree.Create("kubepods"));
  CgroupValues values;
  values.cpus = *CpuSet::Parse("1-2");
  values.mems = *NodeSet::Parse("0");
  values.shares = 512;
  values.cpu_max = CpuMax{.quota = std::chrono::milliseconds(50)};
  values.memory_max = MiB(64);
  values.swap_max = MiB(1);
  values.memory_min = MiB(2);
  values.memory_low = MiB(3);
  values.memory_high = MiB(4);
  values.oom_group = true;
  values.pids_max = 100;
  values.hugetlb.emplace()[MiB(2)] = MiB(7);  // whole pages only, and none of the other size
  EXPECT_EQ(tree.Write("kubepods", values).value_or(0), 12) << "it had the node from the beginning";
  EXPECT_EQ(tree.Write("kubepods", values).value_or(-1), 0) << "the same once more";
  values.weight = tree.Read("kubepods")->weight;
  EXPECT_TRUE(values.weight) << "made of the shares";
  values.hugetlb = {{MiB(2), MiB(6)}, {GiB(1), Bytes{0}}};
  EXPECT_EQ(*tree.Read("kubepods"), values);
}

TEST(DryRunTest, InitContainersEndAndOthersRunUntilSignalled) {
  auto runtime = DryRunRuntime::Open(os::SystemClock());
  ASSERT_TRUE(runtime);
  runtime::StartRequest request;
  request.pod_uid = "u";
  request.container.name = "prepare";
  request.kind = ContainerKind::kInit;
  EXPECT_EQ((*runtime)->Start(request)->exit_code, 0);
  request.container.name = "app";
  request.kind = ContainerKind::kApp;
  const auto app = (*runtime)->Start(request);
  ASSERT_TRUE(app);
  EXPECT_EQ(app->state, runtime::ContainerState::kRunning);
  ASSERT_TRUE((*runtime)->Signal(app->id, 15));
  const auto changed = (*runtime)->Poll();
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed.front().exit_code, 143);
  EXPECT_TRUE((*runtime)->Poll().empty());
}

}  // namespace
}  // namespace berth::daemon
