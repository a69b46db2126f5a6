// Paths as text: nothing is looked up.
#ifndef BERTH_HOST_OS_PATH_H_
#define BERTH_HOST_OS_PATH_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace berth::os {

/// The folder a path names its last part in: "/a/b" gives "/a", "/a" gives "/", "a" gives ".".
inline std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// The last part: "/a/b" gives "b", "a" gives "a".
inline std::string FileNameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// `path` as `folder` sees it, without "." and ".." in it and a slash at its end; "" stays. Symbolic links are not
/// looked at: a folder whose links change (a mounted ConfigMap) keeps its name.
inline std::string SeenFrom(const std::string& folder, const std::string& path) {
  if (path.empty()) return path;
  std::string out = (std::filesystem::path(folder) / path).lexically_normal().string();
  if (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

/// The path is the folder's or below it. Requires: `folder` does not end with a slash.
inline bool IsAtOrBelow(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace berth::os

#endif  // BERTH_HOST_OS_PATH_H_
