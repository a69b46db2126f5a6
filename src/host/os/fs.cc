#include "host/os/fs.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "host/os/whole_file.h"

namespace berth::os {
namespace {

/// Calls a system call again while a signal interrupts it.
template <class Call>
auto Retry(Call call) {
  for (;;) {
    const auto r = call();
    if (r >= 0 || errno != EINTR) return r;
  }
}

/// `path` as the kernel gets it: relative, without empty or "." components; "." for the root itself.
Result<std::string> Normal(std::string_view path) {
  if (path.find('\0') != std::string_view::npos)
    return Fail(Code::kInvalid, "path '" + Printable(path) + "' holds a zero byte");
  std::string out;
  for (const std::string_view part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return Fail(Code::kInvalid, "path '" + Printable(path) + "' has a '..' component");
    if (!out.empty()) out += '/';
    out += part;
  }
  return out.empty() ? "." : out;
}

struct PathParts {
  std::string dir;
  std::string name;
};

PathParts SplitLast(const std::string& normal) {
  const std::size_t slash = normal.rfind('/');
  if (slash == std::string::npos) return {".", normal};
  return {normal.substr(0, slash), normal.substr(slash + 1)};
}

class RealFs final : public Fs {
 public:
  RealFs(UniqueFd root, std::string name, std::size_t most)
      : root_(std::move(root)), name_(std::move(name)), whole_(name_ == "/"), most_(most) {}

  Result<std::string> Read(std::string_view path) override;
  Result<void> Write(std::string_view path, std::string_view s) override;
  Result<std::vector<std::string>> List(std::string_view path) override;
  Result<void> MakeDir(std::string_view path) override;
  Result<void> RemoveDir(std::string_view path) override { return Unlink(path, "rmdir", AT_REMOVEDIR); }
  Result<void> Replace(std::string_view path, std::string_view s) override;
  Result<void> Link(std::string_view from, std::string_view to) override;
  Result<void> RemoveFile(std::string_view path) override { return Unlink(path, "unlink", 0); }
  Result<bool> Exists(std::string_view path) override;
  Result<std::string> ReadLink(std::string_view path) override;

 private:
  /// Absolute, for messages.
  std::string Shown(std::string_view normal) const {
    if (normal == ".") return name_;
    return (whole_ ? "/" : name_ + "/").append(normal);
  }
  /// open(2) below the root. Symbolic links of a tree that is not "/" are resolved inside it (openat2, Linux 5.6).
  int Open(const std::string& normal, int flags) const;
  /// The directory that holds the last component, and that component.
  Result<std::pair<UniqueFd, std::string>> Parent(const std::string& normal, std::string_view doing) const;
  Result<void> Unlink(std::string_view path, std::string_view doing, int flags);
  Result<void> WriteTemp(int dir, const std::string& temp, std::string_view s, std::string_view shown);

  UniqueFd root_;
  std::string name_;
  bool whole_;
  std::size_t most_;  // bytes of a file that is read
};

int RealFs::Open(const std::string& normal, int flags) const {
  flags |= O_CLOEXEC;
  if (!whole_) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags);
    how.resolve = RESOLVE_IN_ROOT;
    for (int tries = 0; tries < 1000; ++tries) {  // EAGAIN: somebody renamed or mounted meanwhile
      const long fd = Retry([&] { return ::syscall(SYS_openat2, root_.get(), normal.c_str(), &how, sizeof how); });
      if (fd >= 0) return static_cast<int>(fd);
      if (errno == ENOSYS) break;
      if (errno != EAGAIN) return -1;
    }
    if (errno != ENOSYS) return -1;
  }
  return Retry([&] { return ::openat(root_.get(), normal.c_str(), flags); });
}

Result<std::pair<UniqueFd, std::string>> RealFs::Parent(const std::string& normal, std::string_view doing) const {
  if (normal == ".") return Fail(Code::kInvalid, std::string(doing) + " " + name_ + ": it is the root of this tree");
  PathParts parts = SplitLast(normal);
  UniqueFd dir(Open(parts.dir, O_RDONLY | O_DIRECTORY));
  if (!dir.valid()) return FailErrno(doing, Shown(normal), errno);
  return std::pair(std::move(dir), std::move(parts.name));
}

Result<std::string> RealFs::Read(std::string_view path) {
  BERTH_TRY(const std::string normal, Normal(path));
  // O_NONBLOCK: a pipe in a folder of manifests must not stop the program; it is refused below.
  const UniqueFd fd(Open(normal, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return FailErrno("read", Shown(normal), errno);
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) return FailErrno("read", Shown(normal), errno);
  if (S_ISDIR(st.st_mode)) return FailErrno("read", Shown(normal), EISDIR);
  if (!S_ISREG(st.st_mode)) return Fail(Code::kInvalid, "read " + Shown(normal) + ": not a regular file");
  std::string out;
  for (std::size_t used = 0;;) {  // kernel files report size 0: read until the end
    if (out.size() < used + 4096) out.resize(std::max<std::size_t>(used * 2, used + 4096));
    const ssize_t n = Retry([&] { return ::read(fd.get(), out.data() + used, out.size() - used); });
    if (n < 0) return FailErrno("read", Shown(normal), errno);
    used += static_cast<std::size_t>(n);
    if (used > most_)
      return Fail(Code::kInvalid, "read " + Shown(normal) + ": larger than " + std::to_string(most_ >> 20) + " MiB");
    if (n == 0) {
      out.resize(used);
      return out;
    }
  }
}

Result<void> RealFs::Write(std::string_view path, std::string_view s) {
  BERTH_TRY(const std::string normal, Normal(path));
  const UniqueFd fd(Open(normal, O_WRONLY | O_TRUNC | O_NOCTTY | O_NONBLOCK));
  if (!fd.valid()) return FailErrno("open for writing", Shown(normal), errno);
  const ssize_t n = Retry([&] { return ::write(fd.get(), s.data(), s.size()); });
  if (n < 0) return FailErrno("write", Shown(normal), errno);
  if (static_cast<std::size_t>(n) != s.size()) {
    return Fail(Code::kIo, "write " + Shown(normal) + ": only " + std::to_string(n) + " of " +
                               std::to_string(s.size()) + " bytes were taken");
  }
  return {};
}

Result<std::vector<std::string>> RealFs::List(std::string_view path) {
  BERTH_TRY(const std::string normal, Normal(path));
  const UniqueFd fd(Open(normal, O_RDONLY | O_DIRECTORY));
  if (!fd.valid()) return FailErrno("list", Shown(normal), errno);
  return NamesIn(fd.get(), Shown(normal));
}

Result<void> RealFs::MakeDir(std::string_view path) {
  BERTH_TRY(const std::string normal, Normal(path));
  if (normal == ".") return {};
  BERTH_TRY(const auto parent, Parent(normal, "mkdir"));
  if (::mkdirat(parent.first.get(), parent.second.c_str(), 0755) == 0) return {};
  if (errno != EEXIST) return FailErrno("mkdir", Shown(normal), errno);
  struct stat st{};
  if (::fstatat(parent.first.get(), parent.second.c_str(), &st, 0) == 0 && S_ISDIR(st.st_mode)) return {};
  return FailErrno("mkdir", Shown(normal), ENOTDIR);
}

Result<void> RealFs::Unlink(std::string_view path, std::string_view doing, int flags) {
  BERTH_TRY(const std::string normal, Normal(path));
  const auto parent = Parent(normal, doing);
  if (!parent) {
    if (parent.error().sys == ENOENT) return {};
    return std::unexpected(parent.error());
  }
  if (::unlinkat(parent->first.get(), parent->second.c_str(), flags) == 0 || errno == ENOENT) return {};
  return FailErrno(doing, Shown(normal), errno);
}

Result<void> RealFs::WriteTemp(int dir, const std::string& temp, std::string_view s, std::string_view shown) {
  if (::unlinkat(dir, temp.c_str(), 0) != 0 && errno != ENOENT)
    return FailErrno("remove old temporary of", shown, errno);
  const UniqueFd fd(
      Retry([&] { return ::openat(dir, temp.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600); }));
  if (!fd.valid()) return FailErrno("create temporary for", shown, errno);
  BERTH_RETURN_IF_ERROR(WriteAll(fd.get(), s, shown));
  if (Retry([&] { return ::fsync(fd.get()); }) != 0) return FailErrno("fsync temporary of", shown, errno);
  return {};
}

Result<void> RealFs::Replace(std::string_view path, std::string_view s) {
  BERTH_TRY(const std::string normal, Normal(path));
  BERTH_TRY(const auto parent, Parent(normal, "replace"));
  const int dir = parent.first.get();
  const std::string temp = "." + parent.second + ".tmp";
  const std::string shown = Shown(normal);
  Result<void> done = WriteTemp(dir, temp, s, shown);
  if (done && ::renameat(dir, temp.c_str(), dir, parent.second.c_str()) != 0) done = FailErrno("replace", shown, errno);
  if (!done) {
    ::unlinkat(dir, temp.c_str(), 0);
    return done;
  }
  if (Retry([&] { return ::fsync(dir); }) != 0) return FailErrno("fsync the directory of", shown, errno);
  return {};
}

Result<void> RealFs::Link(std::string_view from, std::string_view to) {
  BERTH_TRY(const std::string source, Normal(from));
  BERTH_TRY(const std::string target, Normal(to));
  BERTH_TRY(const auto source_dir, Parent(source, "link"));
  BERTH_TRY(const auto target_dir, Parent(target, "link"));
  const int dir = target_dir.first.get();
  const std::string temp = "." + target_dir.second + ".tmp";
  if (::unlinkat(dir, temp.c_str(), 0) != 0 && errno != ENOENT) {
    return FailErrno("remove old temporary of", Shown(target), errno);
  }
  if (::linkat(source_dir.first.get(), source_dir.second.c_str(), dir, temp.c_str(), 0) != 0) {
    return FailErrno("link", Shown(source), errno);
  }
  const int sys = ::renameat(dir, temp.c_str(), dir, target_dir.second.c_str()) == 0 ? 0 : errno;
  ::unlinkat(dir, temp.c_str(), 0);  // still there when it failed, or when both already were the same file
  if (sys != 0) return FailErrno("link", Shown(target), sys);
  return {};
}

Result<bool> RealFs::Exists(std::string_view path) {
  BERTH_TRY(const std::string normal, Normal(path));
  const UniqueFd fd(Open(normal, O_PATH));
  if (fd.valid()) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return FailErrno("look up", Shown(normal), errno);
}

Result<std::string> RealFs::ReadLink(std::string_view path) {
  BERTH_TRY(const std::string normal, Normal(path));
  BERTH_TRY(const auto parent, Parent(normal, "readlink"));
  std::string out(256, '\0');
  for (;;) {
    const ssize_t n = ::readlinkat(parent.first.get(), parent.second.c_str(), out.data(), out.size());
    if (n < 0) return FailErrno("readlink", Shown(normal), errno);
    if (static_cast<std::size_t>(n) < out.size()) {
      out.resize(static_cast<std::size_t>(n));
      return out;
    }
    out.resize(out.size() * 2);
  }
}

}  // namespace

Result<std::unique_ptr<Fs>> OpenFs(const std::string& root, std::size_t most) {
  UniqueFd fd(Retry([&] { return ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!fd.valid()) return FailErrno("open", root, errno);
  std::string name = root;
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  return std::make_unique<RealFs>(std::move(fd), std::move(name), most);
}

Result<std::string> ReadFile(const std::string& path) {
  BERTH_TRY(const std::unique_ptr<Fs> fs, OpenFs("/"));
  return fs->Read(path);
}

}  // namespace berth::os
