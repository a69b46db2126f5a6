#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/machine/archive_library.h"
#include "host/machine/load_machine.h"
#include "host/machine/open_path.h"
#include "host/machine/tree_views.h"

namespace berth::machine {
namespace {

/// What LoadTree asked a tree for, kept so that a tree made of nothing else gives the same answers.
class Recorder final : public os::Fs {
 public:
  explicit Recorder(os::Fs& inner) : inner_(&inner) {}

  const std::map<std::string, std::string>& files() const { return files_; }
  const std::map<std::string, std::string>& links() const { return links_; }
  const std::map<std::string, std::vector<std::string>>& folders() const { return folders_; }

  Result<std::string> Read(std::string_view path) override {
    Result<std::string> text = inner_->Read(path);
    if (text) files_[std::string(path)] = Needed(path, *text);
    return text;
  }
  Result<std::vector<std::string>> List(std::string_view path) override {
    Result<std::vector<std::string>> names = inner_->List(path);
    if (names) folders_[std::string(path)] = *names;
    return names;
  }
  Result<std::string> ReadLink(std::string_view path) override {
    Result<std::string> target = inner_->ReadLink(path);
    if (target && LeadsToPci(*target)) links_[std::string(path)] = *target;
    return target;
  }
  Result<bool> Exists(std::string_view path) override { return inner_->Exists(path); }
  Result<void> Write(std::string_view path, std::string_view) override { return ReadOnly(path); }
  Result<void> MakeDir(std::string_view path) override { return ReadOnly(path); }
  Result<void> RemoveDir(std::string_view path) override { return ReadOnly(path); }
  Result<void> Replace(std::string_view path, std::string_view) override { return ReadOnly(path); }
  Result<void> Link(std::string_view from, std::string_view) override { return ReadOnly(from); }
  Result<void> RemoveFile(std::string_view path) override { return ReadOnly(path); }

 private:
  static Result<void> ReadOnly(std::string_view path) {
    return Fail(Code::kPermission, "change " + std::string(path) + ": a tree being captured is only read");
  }
  /// Of the two files that say more about a machine than LoadTree uses (serial numbers among it): only the lines used.
  static std::string Needed(std::string_view path, const std::string& text) {
    const std::string_view key = path == "proc/cpuinfo" ? "physical id" : path.ends_with("meminfo") ? "MemTotal:" : "";
    if (key.empty()) return text;
    std::string out;
    for (const std::string_view line : Split(text, '\n'))
      if (line.find(key) != std::string_view::npos) out.append(line).append("\n");
    return out;
  }

  os::Fs* inner_;
  std::map<std::string, std::string> files_;
  std::map<std::string, std::string> links_;
  std::map<std::string, std::vector<std::string>> folders_;
};

/// Names that count by being there, even when nothing below them is read (offline CPUs, a node's CPUs).
bool CountsByName(std::string_view name) {
  for (const std::string_view prefix : {"cpu", "node", "index"}) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view digits = name.substr(prefix.size());
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  }
  return false;
}

/// Writes a tar file into memory.
class TarWriter {
 public:
  TarWriter(const ArchiveLibrary& lib, bool gzip) : lib_(lib), archive_(lib.write_new(), lib.write_free) {
    lib_.write_set_format_pax_restricted(archive_.get());
    lib_.write_set_bytes_in_last_block(archive_.get(), 1);
    if (gzip) {
      lib_.write_add_filter_gzip(archive_.get());
      lib_.write_set_filter_option(archive_.get(), "gzip", "timestamp", nullptr);  // same tree, same bytes
    }
    ok_ = lib_.write_open(archive_.get(), this, nullptr, &TarWriter::Append, nullptr) == ARCHIVE_OK;
  }
  void AddFile(const std::string& path, const std::string& text) { Add(path, AE_IFREG, 0644, text); }
  void AddFolder(const std::string& path) { Add(path, AE_IFDIR, 0755, ""); }
  void AddLink(const std::string& path, const std::string& target) { Add(path, AE_IFLNK, 0777, target); }
  Result<std::string> Finish() && {
    if (!ok_ || lib_.write_close(archive_.get()) != ARCHIVE_OK) {
      const char* why = lib_.error_string(archive_.get());
      return Fail(Code::kInternal, std::string("make a tar file: ") + (why == nullptr ? "unknown error" : why));
    }
    return std::move(bytes_);
  }

 private:
  static la_ssize_t Append(archive*, void* self, const void* data, std::size_t size) {
    static_cast<TarWriter*>(self)->bytes_.append(static_cast<const char*>(data), size);
    return static_cast<la_ssize_t>(size);
  }
  void Add(const std::string& path, unsigned type, unsigned mode, const std::string& text) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(lib_.entry_new(), lib_.entry_free);
    lib_.entry_set_pathname(entry.get(), path.c_str());
    lib_.entry_set_filetype(entry.get(), type);
    lib_.entry_set_perm(entry.get(), mode);
    if (type == AE_IFLNK) lib_.entry_set_symlink(entry.get(), text.c_str());
    if (type == AE_IFREG) lib_.entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
    ok_ = ok_ && lib_.write_header(archive_.get(), entry.get()) == ARCHIVE_OK;
    if (type == AE_IFREG && ok_)
      ok_ = lib_.write_data(archive_.get(), text.data(), text.size()) == static_cast<la_ssize_t>(text.size());
  }

  std::string bytes_;
  const ArchiveLibrary& lib_;
  std::unique_ptr<archive, int (*)(archive*)> archive_;
  bool ok_ = false;
};

/// Where a file is that was read in a folder that is a link.
std::string PlaceOf(const std::string& path, const std::map<std::string, std::string>& links) {
  const std::filesystem::path file(path);
  const auto link = links.find(file.parent_path().string());
  if (link == links.end()) return path;
  const std::filesystem::path folder = std::filesystem::path(link->first).parent_path() / link->second;
  return (folder / file.filename()).lexically_normal().string();
}

Result<std::string> Pack(const Recorder& seen, bool gzip) {
  BERTH_TRY(const ArchiveLibrary* const lib, FindArchive());
  TarWriter tar(*lib, gzip);
  for (const auto& [path, names] : seen.folders()) {
    tar.AddFolder(path);
    for (const std::string& name : names)
      if (CountsByName(name)) tar.AddFolder(path + "/" + name);
  }
  for (const auto& [path, text] : seen.files()) tar.AddFile(PlaceOf(path, seen.links()), text);
  for (const auto& [path, target] : seen.links()) tar.AddLink(path, target);
  return std::move(tar).Finish();
}

}  // namespace

Result<void> Capture(os::Fs& root, const std::string& file) {
  const bool gzip = file.ends_with(".gz") || file.ends_with(".tgz");
  if (!gzip && !file.ends_with(".tar"))
    return Fail(Code::kInvalid, "capture to '" + file + "': the name must end in .tar, .tar.gz or .tgz");
  Recorder recorder(root);
  BERTH_TRY(const Machine machine, LoadTree(recorder, "capture of this tree"));
  BERTH_TRY(const std::string bytes, Pack(recorder, gzip));
  BERTH_TRY(const OpenedPath place, OpenParent(file));
  return place.folder->Replace(place.name, bytes);
}

}  // namespace berth::machine
