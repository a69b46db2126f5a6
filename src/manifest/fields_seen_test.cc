// Every field that the table calls carried out was seen to be: by a manifest of tests/shapes, or by a test named there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "manifest/field_table.h"
#include "testing/fixtures.h"

namespace berth::manifest {
namespace {

namespace fs = std::filesystem;

/// Runtime ("process", "cri") and field.
using Seen = std::set<std::pair<std::string, std::string>>;

void Add(Seen& seen, std::string_view runtime, const std::string& field) {
  for (const char* const one : {"process", "cri"})
    if (runtime == "both" || runtime == one) seen.emplace(one, field);
}

Seen SeenByShapes() {
  Seen out;
  for (const auto& file : fs::directory_iterator(testkit::SourcePath("tests/shapes"))) {
    if (file.path().extension() != ".yaml") continue;
    const std::string text = testkit::ReadText(file.path());
    const bool cri_only = text.find("\n# runtime: cri\n") != std::string::npos;
    const bool process_only = text.find("\n# runtime: process\n") != std::string::npos;
    for (const std::string_view line : Split(text, '\n')) {
      if (!line.starts_with("# sees: ")) continue;
      std::istringstream fields{std::string(line.substr(std::string_view("# sees: ").size()))};
      for (std::string field; fields >> field;) Add(out, cri_only ? "cri" : process_only ? "process" : "both", field);
    }
  }
  return out;
}

/// All files of tests, by path below the sources, without blanks: "TEST_F(SuiteTest,Name)".
std::map<std::string, std::string> AllTests() {
  std::map<std::string, std::string> out;
  for (const char* const folder : {"src", "tests"})
    for (const auto& file : fs::recursive_directory_iterator(testkit::SourcePath(folder)))
      if (file.path().extension() == ".cc")
        std::ranges::copy_if(testkit::ReadText(file.path()),
                             std::back_inserter(out[fs::relative(file.path(), testkit::SourcePath("")).string()]),
                             [](unsigned char c) { return std::isspace(c) == 0; });
  return out;
}

/// Tests with a real berthd are of one runtime, and say in their name if that is a container runtime.
bool IsOfRuntime(std::string_view file, std::string_view test, std::string_view runtime) {
  if (!file.starts_with("tests/integration/")) return true;
  return runtime == (test.substr(0, test.find(',')).contains("Cri") ? "cri" : "process");
}

Seen SeenElsewhere() {
  Seen out;
  const std::map<std::string, std::string> tests = AllTests();
  const std::string text = testkit::ReadText(testkit::SourcePath("tests/shapes/elsewhere.txt"));
  for (const std::string_view line : Split(text, '\n')) {
    if (line.empty() || line.starts_with("#")) continue;
    std::istringstream words{std::string(line)};
    std::string runtime;
    std::string field;
    std::string test;
    words >> runtime >> field >> test;
    std::ranges::replace(test, '.', ',');
    const auto file =
        std::ranges::find_if(tests, [&](const auto& entry) { return entry.second.contains("(" + test + ")"); });
    EXPECT_NE(file, tests.end()) << "no such test: " << line;
    if (file == tests.end()) continue;
    EXPECT_TRUE(IsOfRuntime(file->first, test, runtime)) << "this test does not run for " << runtime << ": " << line;
    Add(out, runtime, field);
  }
  return out;
}

TEST(FieldsSeenTest, WhatIsCarriedOutWasSeenToBe) {
  Seen seen = SeenByShapes();
  EXPECT_GT(seen.size(), 60U);
  seen.merge(SeenElsewhere());
  for (const FieldRow& row : FieldTable())
    for (const auto& [runtime, treatment] : {std::pair{"process", &row.process}, std::pair{"cri", &row.cri}}) {
      const bool claimed = treatment->verdict == FieldVerdict::kCarriedOut;
      EXPECT_EQ(seen.contains({runtime, std::string(row.path)}), claimed)
          << runtime << " " << row.path << (claimed ? ": no test shows it" : ": shown, and not called carried out");
      seen.erase({runtime, std::string(row.path)});
    }
  for (const auto& [runtime, field] : seen) ADD_FAILURE() << runtime << " " << field << ": no row of the table";
}

}  // namespace
}  // namespace berth::manifest
