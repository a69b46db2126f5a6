#include "os/input.h"

#include <filesystem>
#include <iostream>
#include <iterator>

#include "os/fs.h"

namespace berth::os {

Result<std::string> ReadInput(const std::string& file) {
  if (file == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  const std::filesystem::path path(file);
  const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  auto fs = OpenFs(folder);
  if (!fs) return Wrap(std::move(fs).error(), file);
  auto text = (*fs)->Read(path.filename().string());
  if (!text) return Wrap(std::move(text).error(), file);
  return *std::move(text);
}

}  // namespace berth::os
