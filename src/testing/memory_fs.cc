#include "testing/memory_fs.h"

#include <cerrno>

#include "base/text.h"

namespace berth::testkit {
namespace {

constexpr int kMaxLinks = 40;

std::string ParentOf(const std::string& normal) {
  const std::size_t slash = normal.rfind('/');
  return slash == std::string::npos ? "" : normal.substr(0, slash);
}

/// No component is empty or starts with "."; most paths are like that, and most tests have no links: they skip the
/// walk.
bool IsNormal(std::string_view path) {
  char before = '/';
  for (const char c : path) {
    if (before == '/' && (c == '/' || c == '.')) return false;
    before = c;
  }
  return before != '/';
}

std::string Plain(std::string_view path) {
  std::string out;
  for (const std::string_view part : Split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

}  // namespace

MemoryFs::MemoryFs(std::initializer_list<std::pair<std::string_view, std::string_view>> files) {
  for (const auto& [path, content] : files) AddFile(path, content);
}

void MemoryFs::AddDir(std::string_view path) {
  const std::lock_guard lock(mutex_);
  const std::string normal = Plain(path);
  std::string at;
  for (const std::string_view part : Split(normal, '/')) {
    if (part.empty()) continue;
    at += (at.empty() ? "" : "/") + std::string(part);
    nodes_.try_emplace(at, Node{Kind::kDir, ""});
  }
}

void MemoryFs::AddFile(std::string_view path, std::string_view content) {
  const std::lock_guard lock(mutex_);
  const std::string normal = Plain(path);
  AddDir(ParentOf(normal));
  nodes_[normal] = {Kind::kFile, std::string(content)};
}

void MemoryFs::AddLink(std::string_view path, std::string_view target) {
  const std::lock_guard lock(mutex_);
  const std::string normal = Plain(path);
  AddDir(ParentOf(normal));
  nodes_[normal] = {Kind::kLink, std::string(target)};
  has_links_ = true;
}

void MemoryFs::Drop(std::string_view path) {
  const std::lock_guard lock(mutex_);
  DropTree(Plain(path));
}

std::optional<std::string> MemoryFs::Content(std::string_view path) const {
  const std::lock_guard lock(mutex_);
  const auto normal = Resolve(path);
  const Node* node = normal ? Find(*normal) : nullptr;
  if (node == nullptr || node->kind != Kind::kFile) return std::nullopt;
  return node->text;
}

bool MemoryFs::IsDir(std::string_view path) const {
  const std::lock_guard lock(mutex_);
  const auto normal = Resolve(path);
  const Node* node = normal ? Find(*normal) : nullptr;
  return node != nullptr && node->kind == Kind::kDir;
}

std::vector<std::string> MemoryFs::Files() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [path, node] : nodes_)
    if (node.kind == Kind::kFile) out.push_back(path);
  return out;
}

std::vector<std::string> MemoryFs::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

void MemoryFs::ClearLog() {
  const std::lock_guard lock(mutex_);
  log_.clear();
}

const MemoryFs::Node* MemoryFs::Find(const std::string& normal) const {
  static const Node root{Kind::kDir, ""};
  if (normal.empty()) return &root;
  const auto it = nodes_.find(normal);
  return it == nodes_.end() ? nullptr : &it->second;
}

Result<std::string> MemoryFs::Resolve(std::string_view path, bool follow_last) const {
  if (!has_links_ && IsNormal(path.starts_with('/') ? path.substr(1) : path))
    return std::string(path.starts_with('/') ? path.substr(1) : path);
  for (const std::string_view part : Split(path, '/'))
    if (part == "..") return Fail(Code::kInvalid, "path '" + Printable(path) + "' has a '..' component");
  std::vector<std::string> todo;  // components still to walk, last one first
  const auto push = [&todo](std::string_view text) {
    const auto parts = Split(text, '/');
    for (auto it = parts.rbegin(); it != parts.rend(); ++it) todo.emplace_back(*it);
  };
  push(path);
  std::string at;
  for (int links = 0; !todo.empty();) {
    const std::string part = std::move(todo.back());
    todo.pop_back();
    if (part.empty() || part == ".") continue;
    if (part == "..") {  // from a link; above the root is the root
      at = ParentOf(at);
      continue;
    }
    const std::string next = at.empty() ? part : at + "/" + part;
    const Node* node = Find(next);
    if (node == nullptr || node->kind != Kind::kLink || (todo.empty() && !follow_last)) {
      at = next;
      continue;
    }
    if (++links > kMaxLinks) return FailErrno("look up", path, ELOOP);
    if (node->text.starts_with('/')) at.clear();
    push(node->text);
  }
  return at;
}

Result<std::string> MemoryFs::ResolveNew(std::string_view path, std::string_view doing) const {
  BERTH_TRY(std::string normal, Resolve(path));
  const Node* parent = Find(ParentOf(normal));
  if (parent == nullptr) return FailErrno(doing, path, ENOENT);
  if (parent->kind != Kind::kDir) return FailErrno(doing, path, ENOTDIR);
  return normal;
}

bool MemoryFs::HasChildren(const std::string& normal, bool directories_only) const {
  const std::string prefix = normal.empty() ? "" : normal + "/";
  for (auto it = nodes_.lower_bound(prefix); it != nodes_.end() && it->first.starts_with(prefix); ++it)
    if (!directories_only || it->second.kind == Kind::kDir) return true;
  return false;
}

void MemoryFs::DropTree(const std::string& normal) {
  nodes_.erase(normal);
  const std::string prefix = normal + "/";
  auto it = nodes_.lower_bound(prefix);
  while (it != nodes_.end() && it->first.starts_with(prefix)) it = nodes_.erase(it);
}

Result<std::string> MemoryFs::Read(std::string_view path) {
  const std::lock_guard lock(mutex_);
  BERTH_TRY(const std::string normal, Resolve(path));
  const Node* node = Find(normal);
  if (node == nullptr) return FailErrno("read", path, ENOENT);
  if (node->kind == Kind::kDir) return FailErrno("read", path, EISDIR);
  if (hooks_.on_read)
    if (auto text = hooks_.on_read(normal)) return *std::move(text);
  return node->text;
}

Result<void> MemoryFs::Write(std::string_view path, std::string_view s) {
  const std::lock_guard lock(mutex_);
  BERTH_TRY(const std::string normal, Resolve(path));
  const Node* node = Find(normal);
  if (node == nullptr) return FailErrno("write", path, ENOENT);
  if (node->kind == Kind::kDir) return FailErrno("write", path, EISDIR);
  if (hooks_.before_write) BERTH_RETURN_IF_ERROR(hooks_.before_write(normal, s));
  nodes_[normal] = {Kind::kFile, std::string(s)};
  log_.push_back("write " + normal + " " + std::string(s));
  if (hooks_.after_write) hooks_.after_write(normal);
  return {};
}

Result<std::vector<std::string>> MemoryFs::List(std::string_view path) {
  const std::lock_guard lock(mutex_);
  BERTH_TRY(const std::string normal, Resolve(path));
  const Node* node = Find(normal);
  if (node == nullptr) return FailErrno("list", path, ENOENT);
  if (node->kind != Kind::kDir) return FailErrno("list", path, ENOTDIR);
  const std::string prefix = normal.empty() ? "" : normal + "/";
  std::vector<std::string> out;
  for (auto it = nodes_.lower_bound(prefix); it != nodes_.end() && it->first.starts_with(prefix); ++it) {
    std::string rest = it->first.substr(prefix.size());
    if (rest.find('/') == std::string::npos) out.push_back(std::move(rest));
  }
  return out;
}

Result<void> MemoryFs::MakeDir(std::string_view path) {
  const std::lock_guard lock(mutex_);
  BERTH_TRY(const std::string normal, ResolveNew(path, "mkdir"));
  if (const Node* node = Find(normal)) {
    if (node->kind == Kind::kDir) return {};
    return FailErrno("mkdir", path, ENOTDIR);
  }
  if (hooks_.before_make_dir) BERTH_RETURN_IF_ERROR(hooks_.before_make_dir(normal));
  nodes_[normal] = {Kind::kDir, ""};
  log_.push_back("mkdir " + normal);
  if (hooks_.after_make_dir) hooks_.after_make_dir(normal);
  return {};
}

Result<void> MemoryFs::RemoveDir(std::string_view path) {
  const std::lock_guard lock(mutex_);
  BERTH_TRY(const std::string normal, Resolve(path, false));
  const Node* node = Find(normal);
  if (node == nullptr) return {};
  if (node->kind != Kind::kDir) return FailErrno("rmdir", path, ENOTDIR);
  const bool takes_files = static_cast<bool>(hooks_.before_remove_dir);
  if (HasChildren(normal, takes_files)) return FailErrno("rmdir", path, takes_files ? EBUSY : ENOTEMPTY);
  if (takes_files) BERTH_RETURN_IF_ERROR(hooks_.before_remove_dir(normal));
  DropTree(normal);
  log_.push_back("rmdir " + normal);
  return {};
}

Result<void> MemoryFs::Replace(std::string_view path, std::string_view s) {
  const std::lock_guard lock(mutex_);
  BERTH_TRY(const std::string target, Resolve(path, false));
  BERTH_RETURN_IF_ERROR(ResolveNew(ParentOf(target).empty() ? "x" : ParentOf(target) + "/x", "replace"));
  const Node* node = Find(target);
  if (node != nullptr && node->kind == Kind::kDir) return FailErrno("replace", path, EISDIR);
  nodes_[target] = {Kind::kFile, std::string(s)};
  log_.push_back("replace " + target);
  return {};
}

Result<void> MemoryFs::Link(std::string_view from, std::string_view to) {
  const std::lock_guard lock(mutex_);
  BERTH_TRY(const std::string source, Resolve(from, false));
  BERTH_TRY(const std::string target, Resolve(to, false));
  const Node* node = Find(source);
  if (node == nullptr) return FailErrno("link", from, ENOENT);
  if (node->kind == Kind::kDir) return FailErrno("link", from, EPERM);
  BERTH_RETURN_IF_ERROR(ResolveNew(ParentOf(target).empty() ? "x" : ParentOf(target) + "/x", "link"));
  if (const Node* old = Find(target); old != nullptr && old->kind == Kind::kDir) return FailErrno("link", to, EISDIR);
  nodes_[target] = Node(*node);
  log_.push_back("link " + source + " " + target);
  return {};
}

Result<void> MemoryFs::RemoveFile(std::string_view path) {
  const std::lock_guard lock(mutex_);
  BERTH_TRY(const std::string normal, Resolve(path, false));
  const Node* node = Find(normal);
  if (node == nullptr) return {};
  if (node->kind == Kind::kDir) return FailErrno("unlink", path, EISDIR);
  nodes_.erase(normal);
  log_.push_back("unlink " + normal);
  return {};
}

Result<bool> MemoryFs::Exists(std::string_view path) {
  const std::lock_guard lock(mutex_);
  BERTH_TRY(const std::string normal, Resolve(path));
  return Find(normal) != nullptr;
}

Result<std::string> MemoryFs::ReadLink(std::string_view path) {
  const std::lock_guard lock(mutex_);
  BERTH_TRY(const std::string normal, Resolve(path, false));
  const Node* node = Find(normal);
  if (node == nullptr) return FailErrno("readlink", path, ENOENT);
  if (node->kind != Kind::kLink) return FailErrno("readlink", path, EINVAL);
  return node->text;
}

}  // namespace berth::testkit
