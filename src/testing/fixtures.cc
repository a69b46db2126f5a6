#include "testing/fixtures.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/text.h"

namespace berth::testkit {
namespace {

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

TempDir::TempDir() {
  const std::string base = Env("TMPDIR");
  path_ = (base.empty() ? "/tmp" : base) + "/berth-test-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr) {
    ADD_FAILURE() << "no temporary directory: " << path_;
    path_.clear();
  }
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

CpuSet Cpus(std::string_view list) {
  const Result<CpuSet> cpus = CpuSet::Parse(list);
  if (!cpus) ADD_FAILURE() << cpus.error().message;
  return cpus.value_or(CpuSet());
}

std::string SourcePath(std::string_view relative) { return std::string(BERTH_SOURCE_DIR "/").append(relative); }

std::optional<std::string> SharedPath(std::string_view relative) {
  const std::string shared = Env("BERTH_SHARED");
  std::string path = (shared.empty() ? SourcePath("../shared") : shared) + "/" + std::string(relative);
  std::error_code ec;
  if (!std::filesystem::exists(path, ec)) return std::nullopt;
  return path;
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  if (!in) ADD_FAILURE() << "cannot read " << path;
  return out.str();
}

void ExpectGolden(std::string_view relative, std::string_view text) {
  const std::string path = SourcePath(relative);
  if (Env("BERTH_UPDATE_GOLDEN") == "1") {
    std::error_code ec;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ec);
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::error_code ec;
  if (!std::filesystem::exists(path, ec)) {
    ADD_FAILURE() << path << " is missing; run once with BERTH_UPDATE_GOLDEN=1 and review it";
    return;
  }
  const std::string want = ReadText(path);
  if (want == text) return;
  const auto expected = Split(want, '\n');
  const auto actual = Split(text, '\n');
  std::size_t line = 0;
  while (line < std::min(expected.size(), actual.size()) && expected[line] == actual[line]) ++line;
  const auto show = [line](const auto& lines) {
    return line < lines.size() ? std::string(lines[line]) : std::string("(end of text)");
  };
  ADD_FAILURE() << path << ":" << line + 1 << " differs\n  expected: " << show(expected)
                << "\n  actual:   " << show(actual) << "\nBERTH_UPDATE_GOLDEN=1 rewrites the file";
}

long PeakKib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return ParseDecimal<long>(SplitWords(line)[1]).value_or(0);
  return 0;
}

}  // namespace berth::testkit
