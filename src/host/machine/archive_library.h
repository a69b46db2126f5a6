// libarchive, loaded with the first tar file and not with the program.
//
// It brings libxml2 and the Unicode tables of that: 1 MiB resident in a berthd whose machine is the host it runs on.
#ifndef BERTH_HOST_MACHINE_ARCHIVE_LIBRARY_H_
#define BERTH_HOST_MACHINE_ARCHIVE_LIBRARY_H_

#include <archive.h>
#include <archive_entry.h>

#include "base/result.h"

namespace berth::machine {

/// The functions used, by their names without "archive_".
struct ArchiveLibrary {
  decltype(&::archive_error_string) error_string = nullptr;
  decltype(&::archive_read_new) read_new = nullptr;
  decltype(&::archive_read_free) read_free = nullptr;
  decltype(&::archive_read_support_filter_all) read_support_filter_all = nullptr;
  decltype(&::archive_read_support_format_tar) read_support_format_tar = nullptr;
  decltype(&::archive_read_open_memory) read_open_memory = nullptr;
  decltype(&::archive_read_next_header) read_next_header = nullptr;
  decltype(&::archive_read_data) read_data = nullptr;
  decltype(&::archive_write_new) write_new = nullptr;
  decltype(&::archive_write_free) write_free = nullptr;
  decltype(&::archive_write_set_format_pax_restricted) write_set_format_pax_restricted = nullptr;
  decltype(&::archive_write_set_bytes_in_last_block) write_set_bytes_in_last_block = nullptr;
  decltype(&::archive_write_add_filter_gzip) write_add_filter_gzip = nullptr;
  decltype(&::archive_write_set_filter_option) write_set_filter_option = nullptr;
  decltype(&::archive_write_open) write_open = nullptr;
  decltype(&::archive_write_close) write_close = nullptr;
  decltype(&::archive_write_header) write_header = nullptr;
  decltype(&::archive_write_data) write_data = nullptr;
  decltype(&::archive_entry_new) entry_new = nullptr;
  decltype(&::archive_entry_free) entry_free = nullptr;
  decltype(&::archive_entry_pathname) entry_pathname = nullptr;
  decltype(&::archive_entry_filetype) entry_filetype = nullptr;
  decltype(&::archive_entry_hardlink) entry_hardlink = nullptr;
  decltype(&::archive_entry_symlink) entry_symlink = nullptr;
  decltype(&::archive_entry_set_pathname) entry_set_pathname = nullptr;
  decltype(&::archive_entry_set_filetype) entry_set_filetype = nullptr;
  decltype(&::archive_entry_set_perm) entry_set_perm = nullptr;
  decltype(&::archive_entry_set_symlink) entry_set_symlink = nullptr;
  decltype(&::archive_entry_set_size) entry_set_size = nullptr;
};

/// The library, which stays for as long as the program runs. Errors: kUnsupported with the cure: it is not installed.
/// Thread: any.
Result<const ArchiveLibrary*> FindArchive();

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_ARCHIVE_LIBRARY_H_
