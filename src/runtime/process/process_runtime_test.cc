#include "runtime/process/process_runtime.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/fixtures.h"
#include "testing/queued_executor.h"

namespace berth::runtime {
namespace {

namespace fs = std::filesystem;

TEST(ProcessRuntimeTest, ARecordThatCannotBeReadNowIsNotThrownAway) {
  const testkit::TempDir dir;
  testkit::QueuedExecutor executor;
  const std::string record = dir / "containers/uid.web.0.1";
  fs::create_directories(record + "/request");  // reading it fails for another reason than that it is missing
  std::ofstream(record + "/state") << "whatever";
  const auto runtime =
      OpenProcessRuntime({.run_dir = dir.path(), .shim_path = "/bin/true", .shim_cgroup = {}, .executor = executor});
  ASSERT_FALSE(runtime);
  EXPECT_NE(runtime.error().message.find("uid.web.0.1"), std::string::npos) << runtime.error().message;
  EXPECT_TRUE(fs::exists(record + "/state"));
}

TEST(ProcessRuntimeTest, ARecordWithoutRequestIsRemoved) {
  const testkit::TempDir dir;
  testkit::QueuedExecutor executor;
  const std::string record = dir / "containers/uid.web.0.1";
  fs::create_directories(record);
  const auto runtime =
      OpenProcessRuntime({.run_dir = dir.path(), .shim_path = "/bin/true", .shim_cgroup = {}, .executor = executor});
  ASSERT_TRUE(runtime) << runtime.error().message;
  EXPECT_TRUE((*runtime)->List()->empty());
  EXPECT_FALSE(fs::exists(record));
}

}  // namespace
}  // namespace berth::runtime
