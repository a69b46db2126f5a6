#include "host/machine/load_machine.h"

#include <memory>
#include <optional>
#include <utility>

#include "base/text.h"
#include "host/machine/hwloc_source.h"
#include "host/machine/open_path.h"
#include "host/machine/tar_fs.h"

namespace berth::machine {
namespace {

constexpr std::string_view kThisHost = "this host";

bool EndsIn(std::string_view name, std::initializer_list<std::string_view> ends) {
  for (const std::string_view end : ends)
    if (name.ends_with(end)) return true;
  return false;
}

/// A word and a count ("pack:2"), and nothing a path would have.
bool LooksSynthetic(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && colon + 1 < text.size() && IsDigit(text[colon + 1]) &&
         text.find('/') == std::string_view::npos;
}

Result<Machine> LoadTarball(std::string_view bytes, const std::string& from) {
  BERTH_TRY(const std::unique_ptr<TarFs> fs, TarFs::Parse(bytes, from));
  Result<std::string> root = fs->FindRoot();
  if (!root) return Wrap(std::move(root).error(), from);
  fs->SetRoot(*std::move(root));
  return LoadTree(*fs, "captured tree " + from);
}

Result<Machine> LoadFolder(os::Fs& fs, const std::string& from) {
  BERTH_TRY(const bool has_sys, fs.Exists("sys"));
  if (!has_sys)
    return Fail(Code::kInvalid,
                from + ": a captured tree has the folders sys and proc directly in it; 'sys' is missing");
  return LoadTree(fs, "tree " + from);
}

/// By the name's ending, else by the first character.
Result<Machine> LoadFile(const std::string& bytes, const std::string& from) {
  const std::string_view start = Trim(std::string_view(bytes).substr(0, 1024));
  if (start.empty()) return Fail(Code::kInvalid, from + ": the file is empty");
  if (EndsIn(from, {".json"})) return ParseMachineInfo(bytes, from);
  if (EndsIn(from, {".xml"})) return ParseHwlocXml(bytes, from);
  if (EndsIn(from, {".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".tzst"}))
    return LoadTarball(bytes, from);
  if (start.front() == '{') return ParseMachineInfo(bytes, from);
  if (start.front() == '<') return ParseHwlocXml(bytes, from);
  return LoadTarball(bytes, from);
}

}  // namespace

Result<OpenedPath> OpenParent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  OpenedPath out;
  out.name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (out.name.empty() || out.name == "." || out.name == "..")
    return Fail(Code::kInvalid, "'" + Printable(path) + "' names no file");
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  BERTH_TRY(out.folder, os::OpenFs(folder));
  return out;
}

Result<Machine> LoadThisHost() {
  BERTH_TRY(const std::unique_ptr<os::Fs> root, os::OpenFs("/"));
  Result<Machine> machine = LoadTree(*root, std::string(kThisHost));
  if (!machine && machine.error().code == Code::kNotFound) machine = HwlocThisHost(std::string(kThisHost));
  if (!machine) return machine;
  machine->this_host = true;
  if (const Result<std::string> boot = root->Read("proc/sys/kernel/random/boot_id")) machine->boot_id = Trim(*boot);
  return machine;
}

Result<Machine> LoadThisHostsMemory() {
  BERTH_TRY(const std::unique_ptr<os::Fs> root, os::OpenFs("/"));
  return LoadMemory(*root, std::string(kThisHost));
}

Result<Machine> Load(const std::string& from) {
  if (from.empty()) return Fail(Code::kInvalid, "no machine is named (host, a folder, a file or synthetic text)");
  if (from == "host") return LoadThisHost();
  if (const auto folder = os::OpenFs(from)) return LoadFolder(**folder, from);
  const Result<OpenedPath> place = OpenParent(from);
  Result<std::string> bytes = place ? place->folder->Read(place->name) : std::unexpected(place.error());
  if (bytes) return LoadFile(*bytes, from);
  if (bytes.error().code != Code::kNotFound && !LooksSynthetic(from))
    return Wrap(std::move(bytes).error(), "machine '" + Printable(from) + "'");
  if (LooksSynthetic(from)) return ParseSynthetic(from);
  return Fail(Code::kNotFound,
              "machine '" + Printable(from) +
                  "': tried as 'host', as a folder, as a file (tar, XML or JSON) and as hwloc synthetic "
                  "text such as 'pack:2 core:8 pu:2': it is none of them");
}

}  // namespace berth::machine
