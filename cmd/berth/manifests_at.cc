#include "berth/manifests_at.h"

#include <filesystem>
#include <system_error>

#include "host/os/fs.h"

namespace berth::cli {

Result<std::vector<std::string>> ManifestsAt(const std::string& name) {
  std::error_code ignored;
  if (name == "-" || !std::filesystem::is_directory(name, ignored)) return std::vector{name};
  BERTH_TRY(const auto fs, os::OpenFs(name));
  BERTH_TRY(const std::vector<std::string> entries, fs->List("."));
  std::vector<std::string> out;
  for (const std::string& entry : entries)
    for (const std::string_view end : {".yaml", ".yml", ".json"})
      if (entry.ends_with(end)) out.push_back((std::filesystem::path(name) / entry).string());
  if (out.empty()) return Fail(Code::kNotFound, name + ": no .yaml, .yml or .json file in this folder");
  return out;
}

}  // namespace berth::cli
