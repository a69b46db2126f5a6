#include "host/os/work_notes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

struct WorkNotesTest : testing::Test {
  /// A process that opens the notes, does `work`, and dies where it stands.
  void Process(const std::function<void(WorkNotes&)>& work) const {
    const int pid = ::fork();
    if (pid == 0) {
      std::vector<std::string> warnings;
      auto notes = WorkNotes::Open(folder.path(), &warnings);
      if (notes) work(**notes);
      ::_exit(notes ? 0 : 1);
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  void DieOf(const std::string& key) const {
    Process([&](WorkNotes& notes) {
      const WorkNotes::Work work(&notes, key);
      ::_exit(0);
    });
  }
  /// Nothing is wrong with the files.
  bool IsSetAside(const std::string& key) const {
    std::vector<std::string> warnings;
    const bool out = (*WorkNotes::Open(folder.path(), &warnings))->IsSetAside(key);
    EXPECT_TRUE(warnings.empty());
    return out;
  }

  testkit::TempDir folder;
};

TEST_F(WorkNotesTest, WhatTwoProcessesInARowDiedOfIsSetAsideAndNothingElse) {
  DieOf("bomb");
  EXPECT_FALSE(IsSetAside("bomb"));
  DieOf("bomb");
  EXPECT_TRUE(IsSetAside("bomb"));
  EXPECT_TRUE(IsSetAside("bomb")) << "opening the notes again changes nothing";
  EXPECT_FALSE(IsSetAside("other"));
}

TEST_F(WorkNotesTest, GettingThroughOnceClearsTheCount) {
  DieOf("unlucky");
  Process([](WorkNotes& notes) { const WorkNotes::Work work(&notes, "unlucky"); });
  DieOf("unlucky");
  EXPECT_FALSE(IsSetAside("unlucky"));
}

TEST_F(WorkNotesTest, AProcessThatDiesOfSomethingElseCountsForNothingItHadDone) {
  for (int i = 0; i < 3; ++i)
    Process([](WorkNotes& notes) {
      {
        const WorkNotes::Work done(&notes, "done");
      }
      const WorkNotes::Work work(&notes, "the cause");
      ::_exit(0);
    });
  EXPECT_TRUE(IsSetAside("the cause"));
  EXPECT_FALSE(IsSetAside("done"));
}

TEST_F(WorkNotesTest, SeveralPiecesAtATimeAreAllNotedAndMoreThanThereArePlacesDoNoHarm) {
  for (int i = 0; i < 2; ++i)
    Process([](WorkNotes& notes) {
      std::vector<std::unique_ptr<WorkNotes::Work>> all;
      for (std::size_t n = 0; n < WorkNotes::kPlaces + 3; ++n)
        all.push_back(std::make_unique<WorkNotes::Work>(&notes, "work " + std::to_string(n)));
      ::_exit(0);
    });
  for (std::size_t n = 0; n < WorkNotes::kPlaces + 3; ++n)
    EXPECT_EQ(IsSetAside("work " + std::to_string(n)), n < WorkNotes::kPlaces) << n;
}

TEST_F(WorkNotesTest, OtherContentOrAnotherPlaceIsAnotherKey) {
  const std::string key = WorkNotes::KeyOf("manifest", "a: 1", "/pods/a.yaml");
  EXPECT_EQ(key, WorkNotes::KeyOf("manifest", "a: 1", "/pods/a.yaml"));
  EXPECT_NE(key, WorkNotes::KeyOf("manifest", "a: 2", "/pods/a.yaml"));
  EXPECT_NE(key, WorkNotes::KeyOf("manifest", "a: 1", "/pods/b.yaml"));
  const std::string long_key = WorkNotes::KeyOf("manifest", "x", std::string(1000, 'p') + "\n");
  EXPECT_LE(long_key.size(), WorkNotes::kLongestKey);
  DieOf(long_key);
  DieOf(long_key);
  EXPECT_TRUE(IsSetAside(long_key));
}

TEST_F(WorkNotesTest, DamagedFilesAreBegunAnew) {
  for (const char* const name : {"working-on", "set-aside"})
    std::ofstream(folder / name) << "\xff\x01 junk\n7\n99999999999 x\n" << std::string(3000, 'q');
  EXPECT_FALSE(IsSetAside("x"));
  DieOf("bomb");
  DieOf("bomb");
  EXPECT_TRUE(IsSetAside("bomb"));
}

TEST_F(WorkNotesTest, CountsThatCannotBeReadAreToldAndBegunAnew) {
  std::filesystem::create_symlink("set-aside", folder / "set-aside");
  std::vector<std::string> warnings;
  ASSERT_TRUE(WorkNotes::Open(folder.path(), &warnings));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "read " + (folder / "set-aside") +
                             ": Too many levels of symbolic links; what berthd ended at before is tried again");
  DieOf("bomb");
  DieOf("bomb");
  EXPECT_TRUE(IsSetAside("bomb"));
}

TEST_F(WorkNotesTest, RemovingTheFileHasEverythingTriedAgain) {
  DieOf("bomb");
  DieOf("bomb");
  std::filesystem::remove(folder / "set-aside");
  EXPECT_FALSE(IsSetAside("bomb"));
}

}  // namespace
}  // namespace berth::os
