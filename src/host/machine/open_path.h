// A path as a person typed it: its folder, opened, and the last component.
#ifndef BERTH_HOST_MACHINE_OPEN_PATH_H_
#define BERTH_HOST_MACHINE_OPEN_PATH_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "host/os/fs.h"

namespace berth::machine {

struct OpenedPath {
  std::unique_ptr<os::Fs> folder;
  std::string name;  ///< never empty, "." or ".."
};

/// "a/b.tar" opens "a"; "b.tar" opens the current folder. Errors: kInvalid when the path names no file, else as OpenFs.
Result<OpenedPath> OpenParent(const std::string& path);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_OPEN_PATH_H_
