// packaging/berthd.service as systemd reads it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "run_program.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

TEST(UnitFileTest, SystemdHasNothingToSayAboutIt) {
  if (::access("/usr/bin/systemd-analyze", X_OK) != 0) GTEST_SKIP() << "systemd-analyze is not installed";
  std::string unit = testkit::ReadText(testkit::SourcePath("packaging/berthd.service"));
  const std::string program = "ExecStart=/usr/bin/berthd\n";
  const std::size_t at = unit.find(program);
  ASSERT_NE(at, std::string::npos);
  unit.replace(at, program.size(), std::string("ExecStart=") + BERTHD + "\n");  // it has to exist
  const testkit::TempDir temp;
  std::ofstream(temp / "berthd.service") << unit;
  const Ran ran = RunProgram("systemd-analyze", {"verify", "--man=no", temp / "berthd.service"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out + ran.err, "");
}

}  // namespace
}  // namespace berth
