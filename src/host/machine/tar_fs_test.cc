#include "host/machine/tar_fs.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace berth::machine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Entry {
  std::string path;
  std::string text;
  unsigned type = AE_IFREG;
};

std::string MakeTar(const std::vector<Entry>& entries, int filter = ARCHIVE_FILTER_NONE) {
  std::string out(1 << 20, '\0');
  std::size_t used = 0;
  const std::unique_ptr<archive, int (*)(archive*)> tar(archive_write_new(), &archive_write_free);
  archive_write_set_format_pax(tar.get());
  archive_write_add_filter(tar.get(), filter);
  archive_write_open_memory(tar.get(), out.data(), out.size(), &used);
  for (const Entry& e : entries) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), e.path.c_str());
    archive_entry_set_filetype(entry.get(), e.type);
    archive_entry_set_perm(entry.get(), 0644);
    if (e.type == AE_IFLNK) archive_entry_set_symlink(entry.get(), e.text.c_str());
    if (e.type == AE_IFREG) archive_entry_set_size(entry.get(), static_cast<la_int64_t>(e.text.size()));
    archive_write_header(tar.get(), entry.get());
    if (e.type == AE_IFREG) archive_write_data(tar.get(), e.text.data(), e.text.size());
  }
  archive_write_close(tar.get());
  out.resize(used);
  return out;
}

const std::vector<Entry>& Sample() {
  static const std::vector<Entry> entries = {{"m/sys/a/file", "hello\n", AE_IFREG},
                                             {"m/sys/b", "a", AE_IFLNK},
                                             {"m/sys/a/up", "../../proc/x", AE_IFLNK},
                                             {"m/proc/x", "there", AE_IFREG},
                                             {"m/empty/", "", AE_IFDIR}};
  return entries;
}

std::unique_ptr<TarFs> Open(const std::vector<Entry>& entries) {
  Result<std::unique_ptr<TarFs>> fs = TarFs::Parse(MakeTar(entries), "t.tar");
  EXPECT_TRUE(fs) << (fs ? "" : fs.error().message);
  return fs ? *std::move(fs) : nullptr;
}

std::string ErrorOf(const std::vector<Entry>& entries, const TarLimits& limits = {}) {
  const auto fs = TarFs::Parse(MakeTar(entries), "t.tar", limits);
  return fs ? "no error" : fs.error().message;
}

TEST(TarFsTest, ReadsFilesFoldersAndLinks) {
  const auto fs = Open(Sample());
  ASSERT_TRUE(fs);
  ASSERT_EQ("m", fs->FindRoot().value_or("none"));
  fs->SetRoot("m");
  EXPECT_EQ("hello\n", fs->Read("sys/a/file").value_or("error"));
  EXPECT_EQ("hello\n", fs->Read("/sys//./b/file").value_or("error"));
  EXPECT_EQ("there", fs->Read("sys/b/up").value_or("error"));
  EXPECT_EQ("../../proc/x", fs->ReadLink("sys/a/up").value_or("error"));
  EXPECT_THAT(*fs->List("sys/b"), ElementsAre("file", "up"));
  EXPECT_THAT(*fs->List(""), ElementsAre("empty", "proc", "sys"));
  EXPECT_TRUE(*fs->Exists("empty"));
  EXPECT_FALSE(*fs->Exists("nothing"));
}

TEST(TarFsTest, KnowsEveryCompression) {
  for (const int filter : {ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_BZIP2, ARCHIVE_FILTER_XZ, ARCHIVE_FILTER_ZSTD})
    EXPECT_TRUE(TarFs::Parse(MakeTar(Sample(), filter), "t")) << filter;
}

TEST(TarFsTest, ErrorsKeepErrno) {
  const auto fs = Open(Sample());
  ASSERT_TRUE(fs);
  EXPECT_EQ(ENOENT, fs->Read("m/none").error().sys);
  EXPECT_EQ(Code::kNotFound, fs->Read("m/none").error().code);
  EXPECT_EQ(EISDIR, fs->Read("m/sys").error().sys);
  EXPECT_EQ(ENOTDIR, fs->List("m/proc/x").error().sys);
  EXPECT_EQ(EINVAL, fs->ReadLink("m/proc/x").error().sys);
  EXPECT_EQ(Code::kInvalid, fs->Read("m/../m/proc/x").error().code);
  EXPECT_EQ(Code::kPermission, fs->Write("m/proc/x", "1").error().code);
}

TEST(TarFsTest, LinksThatLeaveOrLoopAreDangling) {
  const auto fs = Open({{"sys/out", "../../../etc/passwd", AE_IFLNK},
                        {"sys/loop", "loop", AE_IFLNK},
                        {"sys/abs", "/sys/real", AE_IFLNK},
                        {"sys/real", "r", AE_IFREG}});
  ASSERT_TRUE(fs);
  EXPECT_EQ(Code::kNotFound, fs->Read("sys/out").error().code);
  EXPECT_EQ(ELOOP, fs->Read("sys/loop").error().sys);
  EXPECT_EQ("r", fs->Read("sys/abs").value_or("error")) << "absolute links mean the top of the tarball";
}

TEST(TarFsTest, RefusesHostilePaths) {
  EXPECT_THAT(ErrorOf({{"../evil", "x"}}), HasSubstr("t.tar: entry '../evil' leads out of the tree"));
  EXPECT_THAT(ErrorOf({{"a/../../b", "x"}}), HasSubstr("leads out of the tree"));
  EXPECT_THAT(ErrorOf({{"a", "x"}, {"a/b", "y"}}), HasSubstr("entry 'a/b' lies below a file"));
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "d/";
  EXPECT_THAT(ErrorOf({{deep + "f", "x"}}), HasSubstr("nested too deep"));
  EXPECT_THAT(ErrorOf({{"l", std::string(5000, 'x'), AE_IFLNK}}), HasSubstr("target that is too long"));
}

TEST(TarFsTest, KeepsItsLimits) {
  EXPECT_THAT(ErrorOf(Sample(), {.entries = 2}), HasSubstr("more than 2 entries"));
  EXPECT_THAT(ErrorOf({{"a", std::string(100, 'x')}}, {.file_bytes = 99}), HasSubstr("larger than 99 bytes"));
  EXPECT_THAT(ErrorOf(Sample(), {.total_bytes = 20}), HasSubstr("unpacks to more than 20 bytes"));
}

TEST(TarFsTest, RefusesWhatIsNoTree) {
  EXPECT_THAT(TarFs::Parse("", "t").error().message, HasSubstr("t: not a tar file"));
  EXPECT_THAT(TarFs::Parse("some text, no tar file at all", "t").error().message, HasSubstr("t: not a tar file"));
  EXPECT_THAT(Open({{"a/b", "x"}})->FindRoot().error().message, HasSubstr("no folder 'sys'"));
  EXPECT_THAT(Open({{"a/sys/b", "x"}, {"c/sys/b", "x"}})->FindRoot().error().message, HasSubstr("more than one tree"));
  EXPECT_EQ("", Open({{"sys/b", "x"}})->FindRoot().value_or("error"));
}

TEST(TarFsTest, SurvivesEveryCutAndManyFlips) {
  const std::string tar = MakeTar(Sample(), ARCHIVE_FILTER_GZIP);
  for (std::size_t size = 0; size < tar.size(); ++size) (void)TarFs::Parse(tar.substr(0, size), "t");
  const std::string plain = MakeTar(Sample());
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = plain;
    for (int k = 0; k < 4; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    (void)TarFs::Parse(damaged, "t");
  }
}

}  // namespace
}  // namespace berth::machine
