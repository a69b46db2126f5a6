// Captured trees: the input is a tarball, or (first byte 't') a list of "path\tcontent" lines that becomes one.
// Whatever loads must be sound and come back the same.
#include <archive.h>
#include <archive_entry.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/text.h"
#include "host/machine/derive.h"
#include "host/machine/describe.h"
#include "host/machine/load_machine.h"
#include "host/machine/tar_fs.h"

namespace {

/// Links are written as "path\t->target".
std::string TarOf(std::string_view lines) {
  const std::size_t entries = berth::Split(lines, '\n').size();
  std::string out(lines.size() + 2048 * entries + 65536, '\0');
  std::size_t used = 0;
  const std::unique_ptr<archive, int (*)(archive*)> tar(archive_write_new(), &archive_write_free);
  archive_write_set_format_ustar(tar.get());
  if (archive_write_open_memory(tar.get(), out.data(), out.size(), &used) != ARCHIVE_OK) return {};
  for (const std::string_view line : berth::Split(lines, '\n')) {
    const std::size_t tab = line.find('\t');
    const std::string path(line.substr(0, tab));
    const std::string text(tab == std::string_view::npos ? "" : line.substr(tab + 1));
    if (path.empty() || path.find('\0') != std::string::npos) continue;
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), path.c_str());
    archive_entry_set_perm(entry.get(), 0644);
    if (text.starts_with("->")) {
      archive_entry_set_filetype(entry.get(), AE_IFLNK);
      archive_entry_set_symlink(entry.get(), text.c_str() + 2);
    } else {
      archive_entry_set_filetype(entry.get(), AE_IFREG);
      archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
    }
    if (archive_write_header(tar.get(), entry.get()) == ARCHIVE_OK && !text.starts_with("->"))
      archive_write_data(tar.get(), text.data(), text.size());
  }
  archive_write_close(tar.get());
  out.resize(used);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.empty() && bytes.front() == 't') bytes = TarOf(std::string_view(bytes).substr(1));
  constexpr berth::machine::TarLimits kLimits{.entries = 2000, .file_bytes = 1 << 20, .total_bytes = 4 << 20};
  const auto fs = berth::machine::TarFs::Parse(bytes, "fuzz", kLimits);
  if (!fs) return 0;
  auto root = (*fs)->FindRoot();
  if (!root) return 0;
  (*fs)->SetRoot(*root);
  const auto machine = berth::machine::LoadTree(**fs, "fuzz");
  if (!machine) {
    if (machine.error().message.empty()) std::abort();
    return 0;
  }
  if (!berth::machine::CheckNodes(machine->nodes)) std::abort();
  if (!berth::UsableCpus(*machine).IsSubsetOf(machine->online)) std::abort();
  const auto again = berth::machine::LoadTree(**fs, "fuzz");
  if (!again || berth::machine::Describe(*again) != berth::machine::Describe(*machine)) std::abort();
  return 0;
}
