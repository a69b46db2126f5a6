// Captured machines that lie beside the checkout, for this component's tests.
#ifndef BERTH_HOST_MACHINE_SHARED_TREES_TEST_H_
#define BERTH_HOST_MACHINE_SHARED_TREES_TEST_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "testing/fixtures.h"

namespace berth::machine {

inline constexpr std::string_view kTreeEnding = ".tar.bz2";

/// Every tarball of captured machines, by name; empty when there are none beside the checkout: skip, and say so.
inline std::vector<std::string> SharedTrees() {
  std::vector<std::string> out;
  const std::optional<std::string> folder = testkit::SharedPath("machines");
  std::error_code error;
  if (folder)
    for (const auto& entry : std::filesystem::directory_iterator(*folder, error))
      if (entry.path().native().ends_with(kTreeEnding)) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

/// "a/b.tar.bz2" -> "b".
inline std::string TreeName(const std::string& tarball) {
  const std::string name = std::filesystem::path(tarball).filename();
  return name.substr(0, name.size() - kTreeEnding.size());
}

inline std::string TreeTestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = TreeName(info.param);
  std::ranges::replace_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_SHARED_TREES_TEST_H_
