// What containers plant in volumes: links, swapped under berthd's hands, and directories without an end.
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cri_node.h"
#include "more_huge_pages.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class DaemonCriVolumeTest : public testkit::CriNodeTest {
 protected:
  void StartWithSecret() {
    Start();
    fs::create_directories(berthd->Dir("secret"));
    std::ofstream(berthd->Dir("secret/key")) << "outside\n";
  }
  std::string secret() const { return berthd->Dir("secret"); }
  void ExpectSecretKept() {
    std::ifstream key(secret() + "/key");
    EXPECT_EQ("outside\n", std::string(std::istreambuf_iterator<char>(key), {}));
  }
};

TEST_F(DaemonCriVolumeTest, ASubPathThatIsSwappedForALinkWithoutEndNeverLeadsOut) {
  StartWithSecret();
  const std::string volumes =
      "  restartPolicy: Never\n  volumes: [{name: work, hostPath: {path: " + berthd->Dir("work") +
      ", type: DirectoryOrCreate}}]\n";
  Add({.name = "racer",
       .script = "while :; do rm -rf /all/part; ln -s " + secret() + " /all/part; rm /all/part; mkdir /all/part; done",
       .spec = volumes,
       .container = "    volumeMounts: [{name: work, mountPath: /all}]\n"});
  ASSERT_TRUE(berthd->Until("the racer runs", [&] { return berthd->Runs("racer"); }));
  std::vector<std::string> victims;
  for (int i = 0; i < 8; ++i) {
    victims.push_back("victim" + std::to_string(i));
    Add({.name = victims.back(),
         .script = "cat /part/key; echo looked",
         .spec = volumes,
         .container = "    volumeMounts: [{name: work, mountPath: /part, subPath: part}]\n"});
  }
  const auto met = [&](const std::string& victim) {
    return LogOf(victim).find("looked") != std::string::npos ||
           berthd->Get("/v1/events?pod=" + victim).dump().find("Failed") != std::string::npos;
  };
  EXPECT_TRUE(berthd->Until("each looked or was refused", [&] { return std::ranges::all_of(victims, met); }));
  for (const std::string& victim : victims) {
    EXPECT_EQ(LogOf(victim).find("outside"), std::string::npos) << victim;
    Remove(victim);
  }
  Remove("racer");
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectSecretKept();
  ExpectNothingLeft();
}

TEST_F(DaemonCriVolumeTest, WhatIsPlantedInAnEmptyDirGoesWithItAndNothingElse) {
  StartWithSecret();
  Add({.name = "planter",
       .script = "cd /all; ln -s " + secret() + " dir; ln -s " + secret() +
                 "/key key; ln -s ../../../../../../.. up; ln -s /all/dir/.. chain; mkfifo pipe; i=0; "
                 "while [ $i -lt 400 ]; do mkdir d; cd d; ln -s " +
                 secret() + " dir; i=$((i+1)); done; echo planted; sleep 1000",
       .spec = "  volumes: [{name: work, emptyDir: {}}]\n",
       .container = "    volumeMounts: [{name: work, mountPath: /all}]\n"});
  ASSERT_TRUE(berthd->Until("it has planted", [&] { return LogOf("planter").find("planted") != std::string::npos; }));
  Remove("planter");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("planter"); }));
  EXPECT_TRUE(berthd->Until("so is the volume", [&] { return fs::is_empty(berthd->state_dir + "/volumes"); }));
  EXPECT_EQ(berthd->CountEvents("FailedRemovePodFolders"), 0);
  ExpectSecretKept();
  ExpectNothingLeft();
}

TEST_F(DaemonCriVolumeTest, DocumentsAreVariablesAndFilesThatFollowThem) {
  Start();
  const std::string head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n";
  berthd->AddPod("app.yaml", head + "data: {color: blue}\n");
  berthd->AddPod("key.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {pw: hunter2}\n");
  Add({.name = "web",
       .script =
           "echo $COLOR $APP_color $(cat /key/pw) $(cat /about/labels) $(stat -c %a /key/..data/pw) $(grep ' /ram ' "
           "/proc/mounts | grep -c size=2048k); touch /conf/x 2>/dev/null && echo written; while :; do cat "
           "/conf/color; echo; sleep 0.2; done",
       .spec = "  volumes: [{name: conf, configMap: {name: app}}, {name: key, secret: {secretName: key, defaultMode: "
               "0400}}, {name: about, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.name}}]}}, "
               "{name: ram, emptyDir: {medium: Memory, sizeLimit: 2Mi}}]\n",
       .container = "    env: [{name: COLOR, valueFrom: {configMapKeyRef: {name: app, key: color}}}]\n"
                    "    envFrom: [{prefix: APP_, configMapRef: {name: app}}]\n"
                    "    volumeMounts: [{name: conf, mountPath: /conf}, {name: key, mountPath: /key}, {name: about, "
                    "mountPath: /about}, {name: ram, mountPath: /ram}]\n"});
  ASSERT_TRUE(berthd->Until("it has written", [&] { return WordsOf("web").find("\nblue\n") != std::string::npos; }));
  const std::string words = WordsOf("web");
  EXPECT_EQ(words.substr(0, words.find(" web")), "blue blue hunter2") << words;
  EXPECT_NE(words.find(" 400 1\n"), std::string::npos) << words;
  EXPECT_EQ(words.find("written"), std::string::npos);
  berthd->AddPod("app.yaml", head + "data: {color: red}\n");
  EXPECT_TRUE(berthd->Until("red is seen", [&] { return WordsOf("web").find("\nred\n") != std::string::npos; }));
  EXPECT_EQ(berthd->Get("/v1/events").dump().find("hunter2"), std::string::npos);
  fs::remove(berthd->Dir("pods") + "/app.yaml");
  fs::remove(berthd->Dir("pods") + "/key.yaml");
  Remove("web");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("web"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriVolumeTest, AContainerWaitsForADocument) {
  Start();
  Add({.name = "web",
       .script = "echo got $PW; sleep 1000",
       .container = "    env: [{name: PW, valueFrom: {secretKeyRef: {name: key, key: pw}}}]\n"});
  ASSERT_TRUE(berthd->Until("it waits", [&] {
    const codec::Json pod = berthd->PodNamed("web");
    return pod.is_object() && pod["containers"][0]["reason"] == "CreateContainerConfigError";
  }));
  berthd->AddPod("key.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {pw: hunter2}\n");
  EXPECT_TRUE(berthd->Until("it runs", [&] { return WordsOf("web").find("got hunter2") != std::string::npos; }));
  fs::remove(berthd->Dir("pods") + "/key.yaml");
  Remove("web");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return Gone("web"); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriVolumeTest, MountsOfTheHostArriveWhereAVolumeAsksForThem) {
  Start();
  const std::string volume = berthd->Dir("shared");
  fs::create_directories(volume + "/late");
  ASSERT_EQ(::mount(volume.c_str(), volume.c_str(), nullptr, MS_BIND, nullptr), 0);
  ASSERT_EQ(::mount(nullptr, volume.c_str(), nullptr, MS_SHARED, nullptr), 0);
  const auto add = [&](const std::string& name, const std::string& script, const std::string& how) {
    Add({.name = name,
         .script = script,
         .spec = "  restartPolicy: Never\n  volumes: [{name: work, hostPath: {path: " + volume + "}}]\n",
         .container = "    volumeMounts: [{name: work, mountPath: /all" + how + "}]\n"});
  };
  add("follows", "echo begun; until test -e /all/late/file; do sleep 0.1; done; echo arrived",
      ", mountPropagation: HostToContainer");
  add("still", "echo begun; until test -e /all/go; do sleep 0.1; done; ls /all/late; echo end", "");
  ASSERT_TRUE(berthd->Until("both run", [&] { return WordsOf("follows") + WordsOf("still") == "begun\nbegun\n"; }));
  ASSERT_EQ(::mount("none", (volume + "/late").c_str(), "tmpfs", 0, nullptr), 0);
  std::ofstream(volume + "/late/file") << "";
  std::ofstream(volume + "/go") << "";
  EXPECT_TRUE(berthd->Until("it arrived", [&] { return WordsOf("follows") == "begun\narrived\n"; }));
  EXPECT_TRUE(berthd->Until("the other has looked", [&] { return Phase("still", "Succeeded"); }));
  EXPECT_EQ(WordsOf("still"), "begun\nend\n") << "None is the default";
  for (const char* const name : {"follows", "still"}) Remove(name);
  EXPECT_TRUE(berthd->Until("both are gone", [&] { return NoPods(); }));
  EXPECT_EQ(::umount2((volume + "/late").c_str(), MNT_DETACH), 0);
  EXPECT_EQ(::umount2(volume.c_str(), MNT_DETACH), 0);
  ExpectNothingLeft();
}

TEST_F(DaemonCriVolumeTest, APodWhoseVolumeIsTooFullIsEvicted) {
  berthd->Configure("cpuManagerReconcilePeriod: 1s\n");
  Start();
  const auto add = [&](const std::string& name, const std::string& limit) {
    Add({.name = name,
         .script = "dd if=/dev/zero of=/v/f bs=1M count=3; trap 'exit 0' TERM; sleep 1000 & wait",
         .spec = "  volumes: [{name: v, emptyDir: {sizeLimit: " + limit + "}}]\n",
         .container = "    volumeMounts: [{name: v, mountPath: /v}]\n"});
  };
  add("full", "1Mi");
  add("fits", "8Mi");
  EXPECT_TRUE(berthd->Until("it has ended", [&] {
    const codec::Json pod = berthd->PodNamed("full");
    return pod.is_object() && pod["reason"] == "Evicted" && !berthd->Pids().contains("full-n1/app");
  }));
  EXPECT_GT(berthd->CountEvents("Evicted", "Usage of EmptyDir volume \"v\" exceeds the limit \"1Mi\"."), 0);
  EXPECT_TRUE(berthd->Until("the other runs", [&] { return berthd->Runs("fits"); }));
  EXPECT_EQ(berthd->CountEvents("Evicted", "exceeds the limit \"8Mi\""), 0);
  for (const char* const pod : {"full", "fits"}) Remove(pod);
  ASSERT_TRUE(berthd->Until("both are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

TEST_F(DaemonCriVolumeTest, AVolumeOfHugePagesGivesThemAndGetsThemBack) {
  const testkit::MoreHugePages pages;
  if (!pages.there()) GTEST_SKIP() << testkit::MoreHugePages::kWhyNot;
  Start();
  Add({.name = "dpdk",
       .script =
           "truncate -s 2M /v/f && fallocate -l 2M /v/f && echo has a page; trap 'exit 0' TERM; sleep 1000 & wait",
       .spec = "  volumes: [{name: v, emptyDir: {medium: HugePages}}]\n",
       .container = "    resources: {limits: {cpu: 100m, memory: 32Mi, hugepages-2Mi: 4Mi}}\n"
                    "    volumeMounts: [{name: v, mountPath: /v}]\n"});
  ASSERT_TRUE(berthd->Until(
      "it has a page, and berthd knows that it runs",  // the first may be there before the start is answered
      [&] { return WordsOf("dpdk") == "has a page\n" && berthd->Pids().contains("dpdk-n1/app"); }));
  struct statfs is{};
  ASSERT_EQ(::statfs(("/proc/" + std::to_string(berthd->Pids()["dpdk-n1/app"]) + "/root/v").c_str(), &is), 0);
  EXPECT_EQ(is.f_type, HUGETLBFS_MAGIC);
  EXPECT_EQ(is.f_bsize, 2 << 20);
  EXPECT_EQ(is.f_blocks, 2U) << "4 MiB";
  const int while_it_runs = testkit::MoreHugePages::Free();
  Remove("dpdk");
  ASSERT_TRUE(berthd->Until("it is gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
  EXPECT_TRUE(berthd->Until("its page is free", [&] { return testkit::MoreHugePages::Free() == while_it_runs + 1; }));
}

}  // namespace
}  // namespace berth
