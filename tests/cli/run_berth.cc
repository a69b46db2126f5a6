#include "cli/run_berth.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <fstream>

#include "base/text.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

Ran Run(const char* program, const std::vector<std::string>& arguments, const std::string& input) {
  Ran ran = RunProgram(program, arguments, {.environment = {}, .input = input});
  EXPECT_NE(ran.status, -1) << program << " did not start, or was ended by a signal; on stderr: " << ran.err;
  return ran;
}

}  // namespace

Ran RunBerth(const std::vector<std::string>& arguments, const std::string& input) {
  return Run(BERTH, arguments, input);
}

Ran RunConformance(const std::vector<std::string>& arguments, const std::string& input) {
  return Run(BERTH_CONFORMANCE, arguments, input);
}

std::string Shown(const Ran& ran) {
  std::string text = ran.out + ran.err + "(exit status " + std::to_string(ran.status) + ")\n";
  const std::string checkout = testkit::SourcePath("");
  for (std::size_t at = 0; (at = text.find(checkout, at)) != std::string::npos;) text.erase(at, checkout.size());
  return text;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : Split(text, '\n')) out.emplace_back(line);
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

std::string SimulateInput(const std::string& name) { return testkit::SourcePath("tests/golden/simulate/" + name); }

void WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  EXPECT_TRUE(file.flush()) << path;
}

void WriteGzip(const std::string& path, const std::string& text) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr) << path;
  EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
}

std::vector<std::string> GzipLines(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (file == nullptr) return {};
  std::string text;
  std::array<char, 1 << 16> buffer;
  int n = 0;
  while ((n = gzread(file, buffer.data(), buffer.size())) > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  EXPECT_EQ(n, 0) << path;
  gzclose(file);
  return Lines(text);
}

}  // namespace berth
