#include "berth/command_context.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace berth::cli {
namespace {

std::string Items(const std::string& output) {
  const CommonOptions options{.output = output, .socket = {}};
  const Surroundings around;
  std::ostringstream out;
  std::ostringstream err;
  const Session session(options, around, out, err);
  for (const int number : {1, 2}) EXPECT_EQ(kOk, session.PrintItem({{"number", number}})) << err.str();
  return out.str();
}

TEST(SessionTest, OneOfManyValuesIsPrintedAsWasAskedFor) {
  EXPECT_EQ("{\"number\":1}\n{\"number\":2}\n", Items("json"));
  EXPECT_EQ("---\nnumber: 1\n---\nnumber: 2\n", Items("yaml"));
  EXPECT_EQ("1\n2\n", Items("jsonpath={.number}"));
}

TEST(SessionTest, WideTablesAreNeverCut) {
  const auto width = [](const std::string& output) {
    const CommonOptions options{.output = output, .socket = {}};
    const Surroundings around{.terminal = true, .width = 80, .socket = {}};
    std::ostringstream out;
    return Session(options, around, out, out).table().width;
  };
  EXPECT_EQ(80, width("table"));
  EXPECT_EQ(0, width("wide"));
}

}  // namespace
}  // namespace berth::cli
