// What processes of the host find mounted, and what of the host they cannot write: as they see it themselves.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime_fixture.h"

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

class RuntimeVolumeTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped()) return;
    fs::permissions(temp_.path(), fs::perms(0755));
    for (const char* const name : {"volume", "other", "host/here"}) fs::create_directories(temp_ / name);
    std::ofstream(temp_ / "volume/file") << "of the volume\n";
  }
  /// Everything a script says, run with these mounts.
  std::string Say(const std::string& script, std::vector<BoundMount> mounts, SecurityContext security = {}) {
    StartRequest request = Request({"/bin/sh", "-c", script});
    request.log_path = temp_ / ("say-" + std::to_string(said_++) + ".log");
    request.place.mounts = std::move(mounts);
    request.container.security = std::move(security);
    const Result<ContainerStatus> started = Start(request);
    if (!started) return started.error().message;
    const ContainerStatus status = WaitEnd(started->id);
    return status.message + Output(request) + Output(request, "stderr");
  }
  BoundMount At(const std::string& path, bool read_only = false) const {
    return {.container_path = path, .host_path = temp_ / "volume", .read_only = read_only, .propagation = ""};
  }
  static bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  int said_ = 0;
};

TEST_F(RuntimeVolumeTest, AVolumeIsWhereItsMountPathSaysAndNowhereElse) {
  const std::string here = temp_ / "host/here";
  EXPECT_EQ(Say("cat " + here + "/file && echo new > " + here + "/made", {At(here)}), "of the volume\n");
  EXPECT_EQ(testkit::ReadText(temp_ / "volume/made"), "new\n");
  EXPECT_TRUE(fs::is_empty(here)) << "the host's own directory";
  EXPECT_TRUE(Has(Say("echo x > " + here + "/made", {At(here, true)}), "Read-only file system"));
}

TEST_F(RuntimeVolumeTest, AMountPointTheHostDoesNotHaveIsThereForTheContainerAlone) {
  const std::string data = "/berth-test-no-such-directory/deep/er";
  const std::string beside = temp_ / "host/missing";
  std::ofstream(temp_ / "host/neighbour") << "still there\n";
  const std::string said =
      Say("cat " + data + "/file " + beside + "/file " + (temp_ / "host/neighbour") +
              "; test -x /bin/sh && test -d /proc/self && test -e /dev/null && ls -d /etc; echo mine > " +
              (temp_ / "host/own"),
          {At(data), At(beside)});
  EXPECT_EQ(said, "of the volume\nof the volume\nstill there\n/etc\n");
  EXPECT_FALSE(fs::exists("/berth-test-no-such-directory"));
  EXPECT_FALSE(fs::exists(beside));
  EXPECT_FALSE(fs::exists(temp_ / "host/own")) << "in memory, gone with it";
}

TEST_F(RuntimeVolumeTest, AFileIsMountedOnAFileAndVolumesInVolumes) {
  const BoundMount file{.container_path = temp_ / "host/here/inner/name",
                        .host_path = temp_ / "volume/file",
                        .read_only = true,
                        .propagation = ""};
  const BoundMount outer{.container_path = temp_ / "host/here", .host_path = temp_ / "other", .propagation = ""};
  EXPECT_EQ(Say("cat " + file.container_path, {file, outer}), "of the volume\n") << "whatever their order";
  EXPECT_TRUE(fs::exists(temp_ / "other/inner/name")) << "made in the volume, as by container runtimes";
  EXPECT_TRUE(
      Has(Say("true", {{.container_path = "/etc", .host_path = temp_ / "volume/file", .propagation = ""}}), "/etc"));
  EXPECT_TRUE(Has(Say("true", {At("/")}), "mount below it"));
  EXPECT_TRUE(Has(Say("true", {At("/proc/here")}), "mount elsewhere"));
}

TEST_F(RuntimeVolumeTest, ALinkPlantedInAVolumeLeadsNoMountOut) {
  fs::create_directory_symlink("/etc", temp_ / "other/inner");
  const BoundMount outer{.container_path = temp_ / "host/here", .host_path = temp_ / "other", .propagation = ""};
  const std::string said = Say("ls /etc/file", {outer, At(temp_ / "host/here/inner")});
  EXPECT_TRUE(Has(said, "open the mount point")) << said;
  // And one on the way there that is not root's.
  fs::create_directory_symlink("/etc", temp_ / "host/planted");
  ASSERT_EQ(::lchown((temp_ / "host/planted").c_str(), 12345, 12345), 0);
  EXPECT_TRUE(Has(Say("ls /etc/file", {At(temp_ / "host/planted")}), "not root's"));
}

TEST_F(RuntimeVolumeTest, AReadOnlyRootLeavesTheVolumesAndDevices) {
  const std::string here = temp_ / "host/here";
  const std::string data = "/berth-test-no-such-directory";
  for (const bool privileged : {false, true}) {
    const SecurityContext security{.privileged = privileged, .read_only_root = true};
    const std::string said = Say("for f in /tmp /etc /var /run / " + (temp_ / "host") +
                                     "; do touch $f/berth-test 2>/dev/null && echo wrote $f; done; "
                                     "echo x > /dev/null && echo x > " +
                                     here + "/a && echo x > " + data + "/b && echo done",
                                 {At(here), At(data)}, security);
    EXPECT_EQ(said, "done\n");
    EXPECT_NE(Say("touch /tmp/berth-test", {}, security).find("Read-only file system"), std::string::npos);
  }
  EXPECT_EQ(testkit::ReadText(temp_ / "volume/b"), "x\n");
}

TEST_F(RuntimeVolumeTest, ItsUserHasNoMoreOfAVolumeThanTheVolumeGives) {
  const std::string here = temp_ / "host/here";
  fs::permissions(temp_ / "volume", fs::perms(0700));
  EXPECT_TRUE(Has(Say("cat " + here + "/file", {At(here)}, {.run_as_user = 12345}), "Permission denied"));
  ASSERT_EQ(::chown((temp_ / "volume").c_str(), 0, 4321), 0);
  fs::permissions(temp_ / "volume", fs::perms(02770));
  EXPECT_EQ(Say("cat " + here + "/file; touch " + here + "/mine; stat -c '%u %g' " + here + "/mine", {At(here)},
                {.run_as_user = 12345, .fs_group = 4321}),
            "of the volume\n12345 4321\n");
}

TEST_F(RuntimeVolumeTest, MountsOfTheHostArriveWhereAVolumeAsksForThem) {
  const std::string volume = temp_ / "volume";
  ASSERT_EQ(::mount("none", volume.c_str(), "tmpfs", 0, nullptr), 0);
  ASSERT_EQ(::mount(nullptr, volume.c_str(), nullptr, MS_SHARED, nullptr), 0);
  fs::create_directory(volume + "/late");
  fs::create_directories(temp_ / "host/still");
  BoundMount follows = At(temp_ / "host/here");
  follows.propagation = "HostToContainer";
  StartRequest request = Request({"/bin/sh", "-c",
                                  "while [ ! -e " + follows.container_path + "/late/file ]; do sleep 0.02; done; ls " +
                                      (temp_ / "host/still/late") + "; echo end"});
  request.place.mounts = {follows, At(temp_ / "host/still")};
  request.container.security.read_only_root = true;
  const Result<ContainerStatus> started = Start(request);
  ASSERT_TRUE(started) << started.error().message;
  ASSERT_EQ(::mount("none", (volume + "/late").c_str(), "tmpfs", 0, nullptr), 0);
  std::ofstream(volume + "/late/file") << "";
  EXPECT_EQ(WaitEnd(started->id).exit_code, 0);
  EXPECT_EQ(Output(request), "end\n") << "None is the default";
  follows.propagation = "Bidirectional";
  EXPECT_TRUE(Has(Say("true", {follows}), "privileged"));
  EXPECT_EQ(Say("mount -t tmpfs none " + follows.container_path + "/late && touch " + follows.container_path +
                    "/late/out && echo end",
                {follows}, {.privileged = true}),
            "end\n");
  EXPECT_TRUE(fs::exists(volume + "/late/out")) << "went out to the host";
  while (::umount2((volume + "/late").c_str(), MNT_DETACH) == 0) {
  }
  EXPECT_EQ(::umount2(volume.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace berth::runtime
