#include "host/os/file_set.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/os/remove_tree.h"
#include "host/os/unique_fd.h"
#include "host/os/whole_file.h"

namespace berth::os {
namespace {

constexpr const char* kData = "..data";
constexpr const char* kDataTemp = "..data_tmp";
constexpr unsigned kOwner = 0600;  // until a file is whole
constexpr unsigned kFilesFolderMode = 0755;
constexpr unsigned kGroupReads = 0440;
constexpr unsigned kGroupEnters = 0550;
constexpr unsigned kPermissions = 07777;

/// Below `dir`, and over no link.
UniqueFd OpenPlain(int dir, const std::string& path, int flags, unsigned mode = 0) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, dir, path.c_str(), &how, sizeof how)));
}

/// "a/b" of "./a//b". Errors: kInvalid.
Result<std::string> CleanPath(const std::string& path) {
  std::string out;
  for (const std::string_view part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return Fail(Code::kInvalid, "the file " + Printable(path) + ": \"..\" is not allowed");
    out += (out.empty() ? "" : "/") + std::string(part);
  }
  if (out.empty() || path.starts_with('/') || out.starts_with(".."))
    return Fail(Code::kInvalid, "the file " + Printable(path) + ": it is no relative path below its volume");
  return out;
}

Result<std::string> ReadWhole(int fd, const std::string& shown) {
  std::string out;
  std::array<char, 1U << 16> part;
  while (true) {
    const ssize_t size = ::read(fd, part.data(), part.size());
    if (size == 0) return out;
    if (size < 0 && errno != EINTR) return FailErrno("read", shown, errno);
    if (size > 0) out.append(part.data(), static_cast<std::size_t>(size));
  }
}

class SetWriter {
 public:
  SetWriter(const std::string& folder, UniqueFd top, std::optional<gid_t> group)
      : folder_(folder), top_(std::move(top)), group_(group) {}

  Result<bool> Replace(const FileSet& files) {
    const std::string old = CurrentData();
    if (!old.empty() && Holds(old, files) && Visible(files)) return false;
    BERTH_TRY(const std::string made, MakeData());
    auto done = Fill(made, files);
    if (done) done = PointTo(made);
    if (!done) {
      [[maybe_unused]] const auto removed = RemoveTree(folder_ + "/" + made);
      return std::unexpected(std::move(done).error());
    }
    BERTH_RETURN_IF_ERROR(Show(files));
    BERTH_RETURN_IF_ERROR(RemoveOthers(made, files));
    return true;
  }

 private:
  static std::string Top(const std::string& path) { return path.substr(0, path.find('/')); }

  std::string LinkAt(const std::string& name) const {
    std::array<char, 512> target;
    const ssize_t size = ::readlinkat(top_.get(), name.c_str(), target.data(), target.size());
    return size < 0 ? "" : std::string(target.data(), static_cast<std::size_t>(size));
  }

  /// Name of the directory the files are in; "": there is none.
  std::string CurrentData() const {
    const std::string name = LinkAt(kData);
    return name.starts_with("..") && name.size() > 2 && !name.contains('/') ? name : "";
  }

  unsigned ModeOf(const FileOfSet& file) const { return file.mode | (group_ ? kGroupReads : 0); }
  unsigned FolderMode() const { return kFilesFolderMode | (group_ ? kGroupEnters | S_ISGID : 0); }

  /// Whether the directory `name` holds these files with their modes and nothing else.
  bool Holds(const std::string& name, const FileSet& files) const {
    std::set<std::string> found;
    if (!Collect(name, "", found)) return false;
    if (found.size() != files.size()) return false;
    for (const auto& [path, file] : files) {
      const UniqueFd fd = OpenPlain(top_.get(), name + "/" + path, O_RDONLY | O_NONBLOCK);
      struct stat is{};
      if (!fd.valid() || ::fstat(fd.get(), &is) != 0 || !S_ISREG(is.st_mode)) return false;
      if ((is.st_mode & kPermissions) != ModeOf(file) || (group_ && is.st_gid != *group_)) return false;
      const auto bytes = ReadWhole(fd.get(), path);
      if (!bytes || *bytes != file.bytes) return false;
    }
    return true;
  }

  /// Paths of all files below; false: something is in the way.
  bool Collect(const std::string& name, const std::string& below, std::set<std::string>& found) const {
    constexpr std::size_t kMostFound = 100'000;
    const UniqueFd dir = OpenPlain(top_.get(), below.empty() ? name : name + "/" + below, O_RDONLY | O_DIRECTORY);
    if (!dir.valid()) return false;
    const auto names = NamesIn(dir.get(), name);
    if (!names) return false;
    for (const std::string& entry : *names) {
      struct stat is{};
      if (::fstatat(dir.get(), entry.c_str(), &is, AT_SYMLINK_NOFOLLOW) != 0) return false;
      const std::string path = below.empty() ? entry : below + "/" + entry;
      if (S_ISDIR(is.st_mode) ? !Collect(name, path, found) : !found.insert(path).second) return false;
      if (found.size() > kMostFound) return false;
    }
    return true;
  }

  bool Visible(const FileSet& files) const {
    return std::ranges::all_of(files, [&](const auto& file) {
      const std::string top = Top(file.first);
      return LinkAt(top) == kData + ("/" + top);
    });
  }

  Result<std::string> MakeData() const {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    std::tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    std::array<char, 64> text;
    const std::size_t size = std::strftime(text.data(), text.size(), "..%Y_%m_%d_%H_%M_%S.", &parts);
    const std::string start(text.data(), size);
    for (long n = now.tv_nsec;; ++n) {
      std::string name = start + std::to_string(n);
      if (::mkdirat(top_.get(), name.c_str(), kFilesFolderMode) == 0) return name;
      if (errno != EEXIST) return FailErrno("make directory", folder_ + "/" + name, errno);
    }
  }

  Result<void> Own(int fd, unsigned mode, const std::string& shown) const {
    if (group_ && ::fchown(fd, static_cast<uid_t>(-1), *group_) != 0)
      return FailErrno("give to its fsGroup", shown, errno);
    if (::fchmod(fd, mode) != 0) return FailErrno("set the mode of", shown, errno);
    return {};
  }

  Result<void> OwnFolder(const std::string& path) const {
    const UniqueFd fd = OpenPlain(top_.get(), path, O_RDONLY | O_DIRECTORY);
    if (!fd.valid()) return FailErrno("open", folder_ + "/" + path, errno);
    return Own(fd.get(), FolderMode(), folder_ + "/" + path);
  }

  Result<void> Fill(const std::string& data, const FileSet& files) const {
    BERTH_RETURN_IF_ERROR(OwnFolder("."));
    BERTH_RETURN_IF_ERROR(OwnFolder(data));
    std::set<std::string> folders;
    for (const auto& [path, file] : files) {
      for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
        const std::string folder = path.substr(0, at);
        if (!folders.insert(folder).second) continue;
        if (files.contains(folder))
          return Fail(Code::kInvalid, "the file " + Printable(path) + " is below another file, " + Printable(folder));
        if (::mkdirat(top_.get(), (data + "/" + folder).c_str(), kFilesFolderMode) != 0)
          return FailErrno("make directory", folder_ + "/" + data + "/" + folder, errno);
        BERTH_RETURN_IF_ERROR(OwnFolder(data + "/" + folder));
      }
      const std::string name = data + "/" + path;
      const UniqueFd fd = OpenPlain(top_.get(), name, O_WRONLY | O_CREAT | O_EXCL, kOwner);
      if (!fd.valid()) return FailErrno("make", folder_ + "/" + name, errno);
      BERTH_RETURN_IF_ERROR(WriteAll(fd.get(), file.bytes, folder_ + "/" + name));
      BERTH_RETURN_IF_ERROR(Own(fd.get(), ModeOf(file), folder_ + "/" + name));
    }
    return {};
  }

  Result<void> Link(const std::string& target, const std::string& name) const {
    const std::string temp = name == kData ? kDataTemp : "..link_tmp";
    ::unlinkat(top_.get(), temp.c_str(), 0);
    if (::symlinkat(target.c_str(), top_.get(), temp.c_str()) != 0 ||
        ::renameat(top_.get(), temp.c_str(), top_.get(), name.c_str()) != 0)
      return FailErrno("link", folder_ + "/" + name, errno);
    return {};
  }

  Result<void> PointTo(const std::string& data) const { return Link(data, kData); }

  Result<void> Show(const FileSet& files) const {
    std::set<std::string> tops;
    for (const auto& [path, file] : files) tops.insert(Top(path));
    for (const std::string& top : tops)
      if (const std::string target = std::string(kData) + "/" + top; LinkAt(top) != target)
        BERTH_RETURN_IF_ERROR(Link(target, top));
    return {};
  }

  /// What the volume held before.
  Result<void> RemoveOthers(const std::string& data, const FileSet& files) const {
    std::set<std::string> stay = {kData, data};
    for (const auto& [path, file] : files) stay.insert(Top(path));
    BERTH_TRY(const std::vector<std::string> names, NamesIn(top_.get(), folder_));
    for (const std::string& name : names)
      if (!stay.contains(name) && ::unlinkat(top_.get(), name.c_str(), 0) != 0)
        BERTH_RETURN_IF_ERROR(RemoveTree(folder_ + "/" + name));
    return {};
  }

  std::string folder_;
  UniqueFd top_;
  std::optional<gid_t> group_;
};

}  // namespace

Result<bool> ReplaceFiles(const std::string& folder, const FileSet& files, std::optional<gid_t> group) {
  FileSet clean;
  for (const auto& [path, file] : files) {
    BERTH_TRY(std::string name, CleanPath(path));
    clean.insert_or_assign(std::move(name), file);
  }
  UniqueFd top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top.valid()) return FailErrno("open", folder, errno);
  return SetWriter(folder, std::move(top), group).Replace(clean);
}

}  // namespace berth::os
