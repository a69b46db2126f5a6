// A directory whose files change all at once, as a kubelet makes the volumes of documents.
#ifndef BERTH_HOST_OS_FILE_SET_H_
#define BERTH_HOST_OS_FILE_SET_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "base/result.h"

namespace berth::os {

struct FileOfSet {
  std::string bytes;
  unsigned mode = 0644;  ///< permissions
  friend bool operator==(const FileOfSet&, const FileOfSet&) = default;
};
/// By path below the directory.
using FileSet = std::map<std::string, FileOfSet>;

/// Makes the directory `folder`, which exists, hold these files and no others: they are written into a directory of
/// their own, and the link "..data" is moved to it in one step; what is seen at the top are links through "..data".
/// Whoever has a file open keeps the old one. With `group` all belongs to it, and it may read all of it. False: it was
/// so already, nothing is touched. Links in `folder` are never followed. Errors: kInvalid for a path that leads out of
/// `folder` or is file and directory at once; else from the kernel: the files are the old ones then.
Result<bool> ReplaceFiles(const std::string& folder, const FileSet& files, std::optional<gid_t> group);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_FILE_SET_H_
