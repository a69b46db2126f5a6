#include "host/machine/archive_library.h"

#include <optional>

#include "host/os/shared_library.h"

namespace berth::machine {
namespace {

std::optional<ArchiveLibrary> LoadArchive() {
  const auto library = os::SharedLibrary::Load({"libarchive.so.13"});
  if (!library) return std::nullopt;
  ArchiveLibrary out;
  const auto find = [&](const char* name, auto& function) { return library->Find(name, function); };
  const bool all =
      find("archive_error_string", out.error_string) && find("archive_read_new", out.read_new) &&
      find("archive_read_free", out.read_free) &&
      find("archive_read_support_filter_all", out.read_support_filter_all) &&
      find("archive_read_support_format_tar", out.read_support_format_tar) &&
      find("archive_read_open_memory", out.read_open_memory) &&
      find("archive_read_next_header", out.read_next_header) && find("archive_read_data", out.read_data) &&
      find("archive_write_new", out.write_new) && find("archive_write_free", out.write_free) &&
      find("archive_write_set_format_pax_restricted", out.write_set_format_pax_restricted) &&
      find("archive_write_set_bytes_in_last_block", out.write_set_bytes_in_last_block) &&
      find("archive_write_add_filter_gzip", out.write_add_filter_gzip) &&
      find("archive_write_set_filter_option", out.write_set_filter_option) &&
      find("archive_write_open", out.write_open) && find("archive_write_close", out.write_close) &&
      find("archive_write_header", out.write_header) && find("archive_write_data", out.write_data) &&
      find("archive_entry_new", out.entry_new) && find("archive_entry_free", out.entry_free) &&
      find("archive_entry_pathname", out.entry_pathname) && find("archive_entry_filetype", out.entry_filetype) &&
      find("archive_entry_hardlink", out.entry_hardlink) && find("archive_entry_symlink", out.entry_symlink) &&
      find("archive_entry_set_pathname", out.entry_set_pathname) &&
      find("archive_entry_set_filetype", out.entry_set_filetype) &&
      find("archive_entry_set_perm", out.entry_set_perm) && find("archive_entry_set_symlink", out.entry_set_symlink) &&
      find("archive_entry_set_size", out.entry_set_size);
  if (!all) return std::nullopt;
  return out;
}

}  // namespace

Result<const ArchiveLibrary*> FindArchive() {
  static const std::optional<ArchiveLibrary> archive = LoadArchive();
  if (archive) return &*archive;
  return Fail(Code::kUnsupported, "libarchive.so.13 cannot be loaded; install the package libarchive13");
}

}  // namespace berth::machine
