#include "berth/images_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>

#include "api/codec/views.h"
#include "base/text.h"
#include "berth/progress.h"
#include "berth/tool.h"
#include "host/os/clock.h"
#include "view/table.h"

namespace berth::cli {
namespace {

struct ImageName {
  std::string repository;
  std::string tag;
};

/// "host:5000/a/b:1" -> "host:5000/a/b" and "1".
ImageName NameOf(const std::string& reference) {
  const std::size_t colon = reference.rfind(':');
  if (colon == std::string::npos || reference.find('/', colon) != std::string::npos) return {reference, "<none>"};
  return {reference.substr(0, colon), reference.substr(colon + 1)};
}

std::string ShortId(const std::string& id) {
  constexpr std::size_t kShort = 12;
  const std::size_t colon = id.find(':');
  return id.substr(colon == std::string::npos ? 0 : colon + 1, kShort);
}

std::string SizeText(std::uint64_t bytes) {
  constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return std::to_string(bytes) + " B";
  std::size_t unit = 0;
  std::uint64_t tenths = bytes / 100;
  for (; tenths >= 10'000 && unit + 1 < kUnits.size(); ++unit) tenths /= 1000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + kUnits[unit];
}

/// Each name an image has; an image without one by its digest.
std::vector<std::string> ReferencesOf(const ImageView& image) {
  if (!image.tags.empty()) return image.tags;
  if (image.digests.empty()) return {"<none>"};
  const std::string& digest = image.digests.front();
  return {digest.substr(0, digest.find('@'))};
}

std::string ImagesTable(const ImageList& list, const Session& session, const std::set<std::string>* only = nullptr) {
  view::Table table({{"NAME"}, {"TAG"}, {"ID"}, {"SIZE", view::Align::kRight}});
  std::vector<std::pair<std::string, const ImageView*>> rows;
  for (const ImageView& image : list.images)
    for (const std::string& reference : ReferencesOf(image))
      if (only == nullptr || only->contains(reference)) rows.emplace_back(reference, &image);
  std::ranges::sort(rows);
  for (const auto& [reference, image] : rows) {
    const ImageName name = NameOf(reference);
    table.AddRow({name.repository, name.tag, session.wide() ? image->id : ShortId(image->id), SizeText(image->size)});
  }
  return table.Format(session.table());
}

int List(const Session& session) {
  const auto list = session.berthd().Images();
  if (!list) return session.Report(list.error());
  if (session.format() == OutputFormat::kName) {
    for (const ImageView& image : list->images)
      for (const std::string& tag : image.tags) session.PrintForeign(tag + "\n", false);
    return kOk;
  }
  if (!session.for_people()) return session.PrintData(codec::ToJson(*list));
  if (list->images.empty())
    session.err() << "No images; 'berth images import FILE' brings some without a registry.\n";
  else
    session.out() << ImagesTable(*list, session);
  return kOk;
}

std::map<std::string, std::string> IdsByName(const ImageList& list) {
  std::map<std::string, std::string> out;
  for (const ImageView& image : list.images)
    for (const std::string& tag : image.tags) out[tag] = image.id;
  return out;
}

/// Names that are new or mean another image, and those that the tool's words name.
std::set<std::string> CameIn(const ImageList& before, const ImageList& after, const std::string& words) {
  std::set<std::string> named;
  for (const std::string_view word : SplitWords(words)) named.emplace(word);
  const auto had = IdsByName(before);
  std::set<std::string> out;
  for (const auto& [name, id] : IdsByName(after)) {
    const auto it = had.find(name);
    if (it == had.end() || it->second != id || named.contains(name)) out.insert(name);
  }
  return out;
}

std::unexpected<Error> NoImporter(const std::string& runtime, const std::string& file) {
  if (!runtime.starts_with("containerd"))
    return Fail(Code::kUnsupported,
                "the container interface has no import, and only containerd's own tool is known here; for " + runtime +
                    ": podman load -i " + file + ", or skopeo copy docker-archive:" + file +
                    " containers-storage:NAME:TAG");
  return Fail(
      Code::kNotFound,
      "there is no ctr in PATH, the tool that imports images into containerd; install containerd's tools, or let "
      "pods pull the image from a registry");
}

/// Runs `ctr`, which knows what the container interface does not have. Gives its words.
Result<std::string> Import(const std::string& file, const ImageList& known) {
  if (file != "-" && ::access(file.c_str(), R_OK) != 0) return FailErrno("read", file, errno);
  if (!known.runtime.starts_with("containerd")) return NoImporter(known.runtime, file);
  const auto ran = RunTool({"ctr", "-a", known.endpoint, "-n", "k8s.io", "images", "import",
                            file.starts_with('-') && file != "-" ? "./" + file : file});
  if (!ran && ran.error().code == Code::kNotFound) return NoImporter(known.runtime, file);
  if (!ran) return std::unexpected(ran.error());
  if (ran->status != 0)
    return Fail(Code::kInvalid, "ctr could not import " + file + ": " + Printable(Trim(ran->output), 2'000));
  return ran->output;
}

int ImportAndShow(const std::string& file, const Session& session) {
  constexpr int kLooks = 20;
  const auto before = session.berthd().Images();
  if (!before) return session.Report(before.error());
  Progress progress(session);
  progress.Tell("importing " + (file == "-" ? "standard input" : file) + " ...");
  const auto words = Import(file, *before);
  progress.Clear();
  if (!words) return session.Report(words.error());
  // The runtime takes up what ctr brought a moment later.
  for (int look = 0; look < kLooks; ++look, os::SleepFor(os::Millis(100))) {
    const auto after = session.berthd().Images();
    if (!after) return session.Report(after.error());
    const std::set<std::string> names = CameIn(*before, *after, *words);
    if (names.empty()) continue;
    if (session.for_people())
      session.out() << ImagesTable(*after, session, &names);
    else if (session.format() == OutputFormat::kName)
      session.out() << Join(std::vector(names.begin(), names.end()), "\n") << '\n';
    else
      session.PrintData(codec::ToJson(ImportedImages{.names = {names.begin(), names.end()}}));
    return kOk;
  }
  session.err() << "berth: ctr imported " << file << ", but the container runtime shows nothing new. It said:\n"
                << *words;
  return kFailed;
}

}  // namespace

int RunImages(const ImagesOptions& options, const Session& session) {
  return options.action == "import" ? ImportAndShow(options.file, session) : List(session);
}

}  // namespace berth::cli
