#include "testing/fault_fs.h"

namespace berth::testkit {
namespace {

std::string TempOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string_view::npos ? 0 : slash + 1;
  return std::string(path.substr(0, name)) + "." + std::string(path.substr(name)) + ".tmp";
}

constexpr auto kNothing = [] {};

}  // namespace

std::unexpected<Error> FaultFs::Dead(std::string_view doing, std::string_view path) const {
  return FailErrno("after the injected crash: " + std::string(doing), path, plan_.sys);
}

/// `change` does it; `half` leaves behind what an interrupted one would.
template <class Do, class Half>
Result<void> FaultFs::Change(std::string_view doing, std::string_view path, Do change, Half half) {
  if (crashed_) return Dead(doing, path);
  const bool chosen = changes_++ == plan_.at || (plan_.kind == Kind::kFailOn && fired_);
  if (healed_ || !chosen) return change();
  fired_ = true;
  crashed_ = plan_.kind == Kind::kCrash || plan_.kind == Kind::kCrashAfter;
  const bool done_first = plan_.kind == Kind::kFailAfter || plan_.kind == Kind::kCrashAfter;
  [[maybe_unused]] const Result<void> done = done_first ? change() : Result<void>();
  if (plan_.kind == Kind::kShortWrite || plan_.kind == Kind::kCrash) half();
  return FailErrno("injected fault: " + std::string(doing), path, plan_.sys);
}

Result<void> FaultFs::Write(std::string_view path, std::string_view s) {
  const auto half = [&] {
    if (plan_.kind != Kind::kShortWrite) return;
    if (const auto r = target().Write(path, s.substr(0, s.size() / 2)); !r) return;
  };
  return Change("write", path, [&] { return target().Write(path, s); }, half);
}

Result<void> FaultFs::MakeDir(std::string_view path) {
  return Change("mkdir", path, [&] { return target().MakeDir(path); }, kNothing);
}

Result<void> FaultFs::RemoveDir(std::string_view path) {
  return Change("rmdir", path, [&] { return target().RemoveDir(path); }, kNothing);
}

Result<void> FaultFs::Replace(std::string_view path, std::string_view s) {
  const auto half = [&] {
    if (plan_.kind != Kind::kCrash) return;
    if (const auto r = target().Replace(TempOf(path), s.substr(0, s.size() / 2)); !r) return;
  };
  return Change("replace", path, [&] { return target().Replace(path, s); }, half);
}

Result<void> FaultFs::Link(std::string_view from, std::string_view to) {
  return Change("link", from, [&] { return target().Link(from, to); }, kNothing);
}

Result<void> FaultFs::RemoveFile(std::string_view path) {
  return Change("unlink", path, [&] { return target().RemoveFile(path); }, kNothing);
}

Result<std::string> FaultFs::Read(std::string_view path) {
  if (crashed_) return Dead("read", path);
  return target().Read(path);
}

Result<std::vector<std::string>> FaultFs::List(std::string_view path) {
  if (crashed_) return Dead("list", path);
  return target().List(path);
}

Result<bool> FaultFs::Exists(std::string_view path) {
  if (crashed_) return Dead("look up", path);
  return target().Exists(path);
}

Result<std::string> FaultFs::ReadLink(std::string_view path) {
  if (crashed_) return Dead("readlink", path);
  return target().ReadLink(path);
}

}  // namespace berth::testkit
