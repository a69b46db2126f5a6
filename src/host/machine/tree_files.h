// Kernel files of a captured or live tree: small texts that may be missing, empty, cut short or junk.
#ifndef BERTH_HOST_MACHINE_TREE_FILES_H_
#define BERTH_HOST_MACHINE_TREE_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/result.h"
#include "host/os/fs.h"

namespace berth::machine {

/// A numbered entry of a directory: "cpu10" has id 10.
struct Numbered {
  std::string name;
  std::uint32_t id = 0;
};

/// Reads one tree. Paths are relative to its root. Everywhere: a file or folder that does not exist is nullopt or an
/// empty list, never an error; any other failure to read is the Fs' error; wrong content is kInvalid naming the file.
/// Thread: as the Fs behind it.
class TreeFiles {
 public:
  explicit TreeFiles(os::Fs& fs) : fs_(&fs) {}

  /// Content without blanks, newlines and NULs at the end (captures made with old tools end in NULs).
  Result<std::optional<std::string>> Text(const std::string& path);
  /// A decimal number, negative ones included (the kernel says -1 for "unknown").
  Result<std::optional<std::int64_t>> Number(const std::string& path);
  /// A list of CPUs in the kernel's list format; "(null)" (old kernels' nohz_full) is the empty set.
  Result<std::optional<CpuSet>> Cpus(const std::string& path);
  /// A CPU bit mask in the kernel's format: 32-bit hexadecimal groups, highest first, e.g. "ff,00000001".
  Result<std::optional<CpuSet>> CpuMask(const std::string& path);
  /// Names in a folder, bytewise.
  Result<std::vector<std::string>> Names(const std::string& path);
  /// Entries named `prefix` and a number, bytewise by name ("cpu10" before "cpu2").
  /// Errors: kInvalid for ids above kMaxId.
  Result<std::vector<Numbered>> NumberedNames(const std::string& path, std::string_view prefix);
  /// Target of a symbolic link; nullopt also when it is no link.
  std::optional<std::string> Link(const std::string& path);

 private:
  os::Fs* fs_;
};

/// "<path>: <why>, got '<text>'" as kInvalid.
[[nodiscard]] std::unexpected<Error> BadFile(const std::string& path, std::string_view why, std::string_view text);

/// Parses "ff,00000001". nullopt: junk, or an id above kMaxId.
std::optional<CpuSet> ParseCpuMask(std::string_view text);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_TREE_FILES_H_
