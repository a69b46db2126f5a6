#include "host/os/entry_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

std::string Said(EntryWatch& watch) {
  std::string out;
  for (const EntryWatch::Entry& entry : watch.Take().list)
    out += entry.name + (entry.what == EntryWatch::What::kMade      ? " made\n"
                         : entry.what == EntryWatch::What::kWritten ? " written\n"
                                                                    : " removed\n");
  return out;
}

TEST(EntryWatch, TellsWhatIsMadeWrittenAndRemovedUntilAFolderIsNotWatched) {
  const testkit::TempDir temp;
  auto watch = EntryWatch::Open();
  ASSERT_TRUE(watch);
  ASSERT_TRUE(watch->Add(temp.path()));
  std::ofstream(temp / "file") << "1";
  std::filesystem::create_directory(temp / "folder");
  std::filesystem::remove(temp / "folder");
  EXPECT_EQ("file made\nfile written\nfolder made\nfolder removed\n", Said(*watch));
  watch->Remove(temp.path());
  std::filesystem::create_directory(temp / "folder");
  EXPECT_EQ("", Said(*watch));
  ASSERT_TRUE(watch->Add(temp.path()));
  std::filesystem::remove(temp / "folder");
  EXPECT_EQ("folder removed\n", Said(*watch));
}

TEST(EntryWatch, KnowsAFolderByItsNewestName) {
  const testkit::TempDir temp;
  std::filesystem::create_directory(temp / "old");
  auto watch = EntryWatch::Open();
  ASSERT_TRUE(watch);
  ASSERT_TRUE(watch->Add(temp / "old"));
  std::filesystem::rename(temp / "old", temp / "new");
  ASSERT_TRUE(watch->Add(temp / "new"));
  watch->Remove(temp / "old");
  std::filesystem::create_directory(temp / "new/seen");
  EXPECT_EQ("seen made\n", Said(*watch));
}

TEST(EntryWatch, WatchesTheFolderThatHasTheOthersPlace) {
  const testkit::TempDir temp;
  const std::string folder = temp / "folder";
  std::filesystem::create_directory(folder);
  auto watch = EntryWatch::Open();
  ASSERT_TRUE(watch);
  ASSERT_TRUE(watch->Add(folder));
  std::filesystem::rename(folder, temp / "old");
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(watch->Add(folder));
  std::filesystem::create_directory(temp / "old/unseen");
  std::filesystem::create_directory(folder + "/seen");
  EXPECT_EQ("seen made\n", Said(*watch));
  std::filesystem::remove(folder + "/seen");
  std::filesystem::remove(folder);
  EXPECT_EQ("seen removed\n", Said(*watch));
  std::filesystem::create_directory(folder);
  ASSERT_TRUE(watch->Add(folder)) << "after one whose watch went with it";
  std::filesystem::create_directory(folder + "/anew");
  EXPECT_EQ("anew made\n", Said(*watch));
}

}  // namespace
}  // namespace berth::os
