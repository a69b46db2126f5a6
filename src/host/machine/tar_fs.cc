#include "host/machine/tar_fs.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <optional>
#include <utility>

#include "base/text.h"
#include "host/machine/archive_library.h"

namespace berth::machine {
namespace {

constexpr int kMaxLinks = 40;             // as the kernel
constexpr std::size_t kMaxDepth = 64;     // folders in folders; sysfs has about 20
constexpr std::size_t kMaxTarget = 4096;  // of a symbolic link, as the kernel

/// Components without "" and "."; nullopt: one of them is "..".
std::optional<std::vector<std::string_view>> PartsOf(std::string_view path) {
  std::vector<std::string_view> out;
  for (const std::string_view part : Split(path, '/')) {
    if (part == "..") return std::nullopt;
    if (!part.empty() && part != ".") out.push_back(part);
  }
  return out;
}

struct ArchiveCloser {
  const ArchiveLibrary* lib = nullptr;
  void operator()(archive* a) const { lib->read_free(a); }
};

}  // namespace

/// Turns libarchive's entries into nodes, within the limits.
class TarReader {
 public:
  TarReader(TarFs& fs, const std::string& name, const TarLimits& limits, const ArchiveLibrary& lib)
      : fs_(fs), name_(name), limits_(limits), lib_(lib), archive_(lib.read_new(), ArchiveCloser{&lib}) {}

  Result<void> Run(std::string_view bytes) {
    if (archive_ == nullptr) return Fail(Code::kExhausted, name_ + ": no memory to read the tar file");
    lib_.read_support_filter_all(archive_.get());
    lib_.read_support_format_tar(archive_.get());
    if (lib_.read_open_memory(archive_.get(), bytes.data(), bytes.size()) != ARCHIVE_OK) return Damaged();
    std::size_t entries = 0;
    for (;;) {
      archive_entry* entry = nullptr;
      const int status = lib_.read_next_header(archive_.get(), &entry);
      if (status == ARCHIVE_EOF) return {};
      if (status < ARCHIVE_WARN) return Damaged();
      if (++entries > limits_.entries)
        return Fail(Code::kInvalid, name_ + ": more than " + std::to_string(limits_.entries) + " entries");
      BERTH_RETURN_IF_ERROR(Add(entry));
    }
  }

 private:
  std::unexpected<Error> Damaged() {
    const char* why = lib_.error_string(archive_.get());
    return Fail(Code::kInvalid, name_ +
                                    ": not a tar file that can be read (tar, plain or with gzip, bzip2, xz, zstd): " +
                                    Printable(why == nullptr ? "unknown error" : why));
  }
  Result<void> Take(std::size_t bytes) {
    total_ += bytes;
    if (total_ <= limits_.total_bytes) return {};
    return Fail(Code::kInvalid, name_ + ": unpacks to more than " + std::to_string(limits_.total_bytes) + " bytes");
  }
  Result<void> Add(archive_entry* entry) {
    const char* raw = lib_.entry_pathname(entry);
    const std::string path = raw == nullptr ? "" : raw;
    const auto parts = PartsOf(path);
    if (!parts) return Fail(Code::kInvalid, name_ + ": entry '" + Printable(path) + "' leads out of the tree");
    if (parts->size() > kMaxDepth)
      return Fail(Code::kInvalid, name_ + ": entry '" + Printable(path) + "' is nested too deep");
    BERTH_RETURN_IF_ERROR(Take(path.size()));
    const auto type = lib_.entry_filetype(entry);
    const char* hard = lib_.entry_hardlink(entry);
    if (parts->empty() || (hard == nullptr && type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK)) return {};
    std::string text;
    if (hard != nullptr) {
      const TarFs::Place other = fs_.Find(hard, false);
      if (other.node == nullptr || other.node->kind != TarFs::Kind::kFile) return {};
      text = other.node->text;
      BERTH_RETURN_IF_ERROR(Take(text.size()));
    } else if (type == AE_IFREG) {
      BERTH_TRY(text, Content(path));
    } else if (const char* target = type == AE_IFLNK ? lib_.entry_symlink(entry) : nullptr) {
      text = target;
      if (text.size() > kMaxTarget)
        return Fail(Code::kInvalid, name_ + ": the link '" + Printable(path) + "' has a target that is too long");
      BERTH_RETURN_IF_ERROR(Take(text.size()));
    }
    TarFs::Node* node = fs_.Make(*parts);
    if (node == nullptr) return Fail(Code::kInvalid, name_ + ": entry '" + Printable(path) + "' lies below a file");
    if (type == AE_IFDIR && hard == nullptr) return {};
    node->kind = type == AE_IFLNK && hard == nullptr ? TarFs::Kind::kLink : TarFs::Kind::kFile;
    node->text = std::move(text);
    return {};
  }
  Result<std::string> Content(const std::string& path) {
    std::string out;
    char block[16384];
    for (;;) {
      const la_ssize_t got = lib_.read_data(archive_.get(), block, sizeof block);
      if (got < 0) return Damaged();
      if (got == 0) return out;
      out.append(block, static_cast<std::size_t>(got));
      BERTH_RETURN_IF_ERROR(Take(static_cast<std::size_t>(got)));
      if (out.size() > limits_.file_bytes)
        return Fail(Code::kInvalid, name_ + ": file '" + Printable(path) + "' is larger than " +
                                        std::to_string(limits_.file_bytes) + " bytes");
    }
  }

  TarFs& fs_;
  const std::string& name_;
  const TarLimits& limits_;
  const ArchiveLibrary& lib_;
  std::unique_ptr<archive, ArchiveCloser> archive_;
  std::size_t total_ = 0;
};

Result<std::unique_ptr<TarFs>> TarFs::Parse(std::string_view bytes, const std::string& name, const TarLimits& limits) {
  BERTH_TRY(const ArchiveLibrary* const lib, FindArchive());
  std::unique_ptr<TarFs> fs(new TarFs);
  TarReader reader(*fs, name, limits, *lib);
  if (Result<void> done = reader.Run(bytes); !done) return std::unexpected(std::move(done).error());
  if (fs->top_.children.empty()) return Fail(Code::kInvalid, name + ": not a tar file, or an empty one");
  return fs;
}

Result<std::string> TarFs::FindRoot() const {
  if (top_.children.contains("sys")) return std::string();
  std::string found;
  for (const auto& [name, node] : top_.children) {
    if (!node->children.contains("sys")) continue;
    if (!found.empty())
      return Fail(Code::kInvalid, "holds more than one tree: '" + Printable(found) + "' and '" + Printable(name) + "'");
    found = name;
  }
  if (found.empty()) return Fail(Code::kInvalid, "holds no folder 'sys', neither at the top nor in a top folder");
  return found;
}

TarFs::Node* TarFs::Make(const std::vector<std::string_view>& parts) {
  Node* at = &top_;
  for (const std::string_view part : parts) {
    if (at->kind != Kind::kFolder) return nullptr;
    auto child = at->children.find(part);
    if (child == at->children.end()) child = at->children.emplace(std::string(part), std::make_unique<Node>()).first;
    at = child->second.get();
  }
  return at;
}

TarFs::Place TarFs::Find(std::string_view path, bool follow_last) const {
  std::deque<std::string> todo;
  for (const std::string_view part : Split(path, '/')) todo.emplace_back(part);
  std::vector<const Node*> stack{&top_};
  int links = 0;
  while (!todo.empty()) {
    const std::string part = std::move(todo.front());
    todo.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (stack.size() == 1) return {nullptr, ENOENT};
      stack.pop_back();
      continue;
    }
    if (stack.back()->kind != Kind::kFolder) return {nullptr, ENOTDIR};
    const auto child = stack.back()->children.find(part);
    if (child == stack.back()->children.end()) return {nullptr, ENOENT};
    const Node* node = child->second.get();
    if (node->kind != Kind::kLink || (todo.empty() && !follow_last)) {
      stack.push_back(node);
      continue;
    }
    if (++links > kMaxLinks) return {nullptr, ELOOP};
    const std::vector<std::string_view> target = Split(node->text, '/');
    if (node->text.starts_with('/')) stack.resize(1);
    for (std::size_t i = target.size(); i-- > 0;) todo.emplace_front(target[i]);
  }
  return {stack.back(), 0};
}

Result<const TarFs::Node*> TarFs::Need(std::string_view doing, std::string_view path, bool follow_last) const {
  if (!PartsOf(path)) return Fail(Code::kInvalid, std::string(doing) + " " + std::string(path) + ": '..' is refused");
  const Place place = Find(root_ + "/" + std::string(path), follow_last);
  if (place.node == nullptr) return FailErrno(doing, path, place.sys);
  return place.node;
}

Result<std::string> TarFs::Read(std::string_view path) {
  BERTH_TRY(const Node* node, Need("read", path, true));
  if (node->kind == Kind::kFolder) return FailErrno("read", path, EISDIR);
  return node->text;
}

Result<std::vector<std::string>> TarFs::List(std::string_view path) {
  BERTH_TRY(const Node* node, Need("list", path, true));
  if (node->kind != Kind::kFolder) return FailErrno("list", path, ENOTDIR);
  std::vector<std::string> names;
  for (const auto& [name, child] : node->children) names.push_back(name);
  return names;
}

Result<bool> TarFs::Exists(std::string_view path) {
  if (!PartsOf(path)) return Fail(Code::kInvalid, "look up " + std::string(path) + ": '..' is refused");
  return Find(root_ + "/" + std::string(path), true).node != nullptr;
}

Result<std::string> TarFs::ReadLink(std::string_view path) {
  BERTH_TRY(const Node* node, Need("read link", path, false));
  if (node->kind != Kind::kLink) return FailErrno("read link", path, EINVAL);
  return node->text;
}

Result<void> TarFs::Write(std::string_view path, std::string_view) { return FailErrno("write", path, EROFS); }
Result<void> TarFs::MakeDir(std::string_view path) { return FailErrno("make folder", path, EROFS); }
Result<void> TarFs::RemoveDir(std::string_view path) { return FailErrno("remove folder", path, EROFS); }
Result<void> TarFs::Replace(std::string_view path, std::string_view) { return FailErrno("replace", path, EROFS); }
Result<void> TarFs::Link(std::string_view from, std::string_view) { return FailErrno("link", from, EROFS); }
Result<void> TarFs::RemoveFile(std::string_view path) { return FailErrno("remove", path, EROFS); }

}  // namespace berth::machine
