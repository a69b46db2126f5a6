#include "frontend/static_pods/pod_folder_index.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "host/os/lock_file.h"

namespace berth::pods {

namespace fs = std::filesystem;

Result<void> NotePod(const std::string& dir, const NotedPod& pod) {
  const std::string note = dir + "/" + pod.uid;
  std::error_code error;
  if (fs::read_symlink(note, error) == pod.log_folder && !error) return {};
  BERTH_RETURN_IF_ERROR(os::MakeDirs(dir, 0700));
  fs::remove(note, error);
  fs::create_symlink(pod.log_folder, note, error);
  return error ? Result<void>(FailErrno("make", note, error.value())) : Result<void>();
}

void ForgetNote(const std::string& dir, const std::string& uid) {
  std::error_code error;  // what stays is found again
  fs::remove(dir + "/" + uid, error);
}

std::vector<NotedPod> NotedPods(const std::string& dir) {
  std::vector<NotedPod> out;
  std::error_code error;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code none;
    NotedPod pod{.uid = entry->path().filename().string(),
                 .log_folder = fs::read_symlink(entry->path(), none).string()};
    if (!none && pod.log_folder.starts_with('/') && pod.log_folder.ends_with("_" + pod.uid))
      out.push_back(std::move(pod));
  }
  std::ranges::sort(out, {}, &NotedPod::uid);
  return out;
}

}  // namespace berth::pods
