#include "host/os/shared_library.h"

#include <gtest/gtest.h>

namespace berth::os {
namespace {

TEST(SharedLibraryTest, TheFirstThatIsInstalledIsTakenAndItsFunctionsCanBeCalled) {
  const auto library = SharedLibrary::Load({"libberth-there-is-none.so.1", "libz.so.1"});
  ASSERT_TRUE(library);
  const char* (*version)() = nullptr;
  ASSERT_TRUE(library->Find("zlibVersion", version));
  EXPECT_EQ('1', version()[0]);
  EXPECT_FALSE(library->Find("zlib_has_no_such_function", version));
  EXPECT_EQ(nullptr, version);
}

TEST(SharedLibraryTest, WhereNoneIsInstalledThereIsNone) {
  EXPECT_FALSE(SharedLibrary::Load({"libberth-there-is-none.so.1"}));
}

}  // namespace
}  // namespace berth::os
