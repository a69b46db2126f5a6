// One mounted cgroup hierarchy with the controllers Berth uses on it. v1 hosts have one per controller, v2 hosts one.
// Internal to the component: Tree joins them.
#ifndef BERTH_HOST_CGROUP_HIERARCHY_H_
#define BERTH_HOST_CGROUP_HIERARCHY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "host/os/fs.h"
#include "model/cgroup_values.h"

namespace berth::cgroup {

/// The control files of the host: counts writes and says what failed. Paths are absolute. Owned by the tree.
class ControlFiles {
 public:
  explicit ControlFiles(os::Fs& fs) : fs_(fs) {}

  os::Fs& fs() { return fs_; }
  std::uint64_t writes() const { return writes_; }

  /// nullopt: there is no such file.
  Result<std::optional<std::string>> Read(const std::string& file);
  /// Errors: as the kernel's; the message holds the value.
  Result<void> Write(const std::string& file, std::string_view value);
  /// Reads `file` with `parse` and writes `text` unless the value there equals `wanted`.
  /// Errors: kUnsupported when the file is missing though its cgroup exists (controller not enabled), kNotFound.
  template <class T, class Parse>
  Result<void> Put(const std::string& file, const T& wanted, std::string_view text, Parse parse) {
    BERTH_TRY(const auto now, Parsed(file, parse));
    if (!now) return Missing(file);
    if (*now == wanted) return {};
    return Write(file, text);
  }
  /// The value of `file`; nullopt when it is missing. Errors: kInvalid, naming the file.
  template <class Parse>
  auto Parsed(const std::string& file, Parse parse)
      -> Result<std::optional<typename decltype(parse(std::string_view()))::value_type>> {
    BERTH_TRY(const std::optional<std::string> text, Read(file));
    if (!text) return std::nullopt;
    auto value = parse(*text);
    if (!value) return Wrap(std::move(value).error(), "read " + file);
    return *std::move(value);
  }
  /// The error for a control file that is not there.
  std::unexpected<Error> Missing(const std::string& file);
  /// Page sizes of the host, from /sys/kernel/mm/hugepages; read once.
  const std::vector<Bytes>& HugePageSizes();

 private:
  os::Fs& fs_;
  std::uint64_t writes_ = 0;
  std::optional<std::vector<Bytes>> huge_page_sizes_;
};

/// Directories are absolute; a `path` argument is relative to the mount ("berth/kubepods/podx"), already checked.
class Hierarchy {
 public:
  Hierarchy(ControlFiles& files, std::string mount, std::vector<std::string> controllers)
      : files_(files), mount_(std::move(mount)), controllers_(std::move(controllers)) {}
  virtual ~Hierarchy() = default;
  Hierarchy(const Hierarchy&) = delete;
  Hierarchy& operator=(const Hierarchy&) = delete;

  const std::string& mount() const { return mount_; }
  bool Has(std::string_view controller) const;
  /// Absolute directory of a cgroup.
  std::string Dir(std::string_view path) const;

  virtual bool v2() const = 0;
  /// Makes all levels of `path`, parents first, each fit to hold processes (v1) or children (v2).
  virtual Result<void> Create(std::string_view path) = 0;
  /// Writes what differs and belongs to this hierarchy's controllers. `owned`: length of the part of `path` that is
  /// Berth's root; ancestors from there down may be changed.
  virtual Result<void> Write(std::string_view path, std::size_t owned, const CgroupValues& values) = 0;
  /// The effective CPUs; nullopt: no such cgroup or file. Requires: Has("cpuset").
  virtual Result<std::optional<CpuSet>> ReadCpus(std::string_view path) = 0;
  /// The effective memory nodes, likewise.
  virtual Result<std::optional<NodeSet>> ReadMems(std::string_view path) = 0;
  /// Fills in what this hierarchy knows. Requires: the cgroup exists.
  virtual Result<void> Read(std::string_view path, CgroupValues& out) = 0;

 protected:
  ControlFiles& files() { return files_; }
  /// The page size of the kernel, for limits it rounds down.
  static std::int64_t PageSize();
  /// hugetlb.<size>.<suffix> for every page size of the host; a missing ".rsvd" file is no error.
  Result<void> WriteHugePages(const std::string& dir, std::string_view suffix, const CgroupValues& values);
  /// The same back, without ".rsvd".
  Result<void> ReadHugePages(const std::string& dir, std::string_view suffix, CgroupValues& out);

 private:
  ControlFiles& files_;
  std::string mount_;
  std::vector<std::string> controllers_;
};

std::unique_ptr<Hierarchy> MakeV1Hierarchy(ControlFiles& files, std::string mount,
                                           std::vector<std::string> controllers);
std::unique_ptr<Hierarchy> MakeV2Hierarchy(ControlFiles& files, std::string mount,
                                           std::vector<std::string> controllers);

/// All leading parts of a relative path: "a/b" -> "a", "a/b". Empty for "".
std::vector<std::string> Levels(std::string_view path);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_HIERARCHY_H_
