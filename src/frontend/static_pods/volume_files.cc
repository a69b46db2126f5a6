#include "frontend/static_pods/volume_files.h"

#include <fmt/core.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/document.h"

namespace berth::pods {
namespace {

constexpr std::int32_t kUsualMode = 0644;

/// `key="value"`, a line each, as the kubelet writes labels and annotations.
std::string LinesOf(const std::map<std::string, std::string>& map) {
  const auto quoted = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      constexpr std::string_view kPlain = "\"\\\n\t\r";
      constexpr std::string_view kWritten = "\"\\ntr";
      if (const std::size_t at = kPlain.find(c); at != std::string_view::npos)
        out += {'\\', kWritten[at]};
      else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      else
        out += c;
    }
    return out + "\"";
  };
  std::string out;
  for (const auto& [key, value] : map) out += (out.empty() ? "" : "\n") + key + "=" + quoted(value);
  return out;
}

/// Fills one volume, or only counts what would be in it.
class Filler {
 public:
  enum class Task : std::uint8_t { kFill, kCount };
  Filler(const Pod& pod, const Volume& volume, const runtime::NodeFacts& node, Task task)
      : pod_(pod), volume_(volume), node_(node), task_(task) {}

  Result<void> Add(const VolumeSource& source) {
    if (source.document) return AddDocument(source, *source.document);
    for (const VolumeItem& item : source.items) {
      BERTH_TRY(const std::string value, Downward(item));
      Put(item.path, value, item.mode);
    }
    return {};
  }

  os::FileSet Take() && { return std::move(out_); }
  std::size_t bytes() const { return bytes_; }

 private:
  Result<void> AddDocument(const VolumeSource& source, DocumentKind kind) {
    const auto found = runtime::FindDocument(node_, pod_, kind, source.name);
    if (!found) return source.optional ? Result<void>() : std::unexpected(found.error());
    const ConfigDocument& document = **found;
    if (source.items.empty())
      for (const auto* values : {&document.data, &document.binary})
        for (const auto& [key, value] : *values) Put(key, value, std::nullopt);
    for (const VolumeItem& item : source.items) {
      const auto text = document.data.find(item.key);
      const auto bytes = document.binary.find(item.key);
      if (text == document.data.end() && bytes == document.binary.end()) {
        if (source.optional) continue;
        return std::unexpected(runtime::NoSuchKey(document, item.key));
      }
      Put(item.path, text != document.data.end() ? text->second : bytes->second, item.mode);
    }
    return {};
  }

  Result<std::string> Downward(const VolumeItem& item) const {
    if (item.resource) return runtime::AmountValue(pod_, nullptr, *item.resource, node_);
    if (item.field_path == "metadata.labels") return LinesOf(pod_.labels);
    if (item.field_path == "metadata.annotations") return LinesOf(pod_.annotations);
    return runtime::FieldValue(pod_, item.field_path, node_);
  }

  void Put(const std::string& path, const std::string& value, std::optional<std::int32_t> mode) {
    bytes_ += value.size() + kCostOfFile;
    if (task_ == Task::kCount) return;
    const auto of = static_cast<unsigned>(mode.value_or(volume_.file_mode.value_or(kUsualMode)));
    out_.insert_or_assign(path, os::FileOfSet{.bytes = value, .mode = of});
  }

  const Pod& pod_;
  const Volume& volume_;
  const runtime::NodeFacts& node_;
  const Task task_;
  os::FileSet out_;
  std::size_t bytes_ = 0;
};

/// Before anything is copied. What cannot be found counts for nothing.
Result<void> CheckBudget(const Pod& pod, const runtime::NodeFacts& node) {
  std::size_t bytes = 0;
  for (const Volume& volume : pod.volumes) {
    Filler counter(pod, volume, node, Filler::Task::kCount);
    for (const VolumeSource& source : volume.sources)
      if (const auto counted = counter.Add(source); !counted) continue;
    bytes += counter.bytes();
    if (bytes > kMostFileBytes)
      return Fail(
          Code::kInvalid,
          fmt::format("the files of the pod's volumes come to more than {} MiB, with volume {}; make several pods "
                      "of it, or mount a hostPath",
                      kMostFileBytes >> 20, volume.name));
  }
  return {};
}

}  // namespace

Result<os::FileSet> FilesOf(const Pod& pod, const Volume& volume, const runtime::NodeFacts& node) {
  BERTH_RETURN_IF_ERROR(CheckBudget(pod, node));
  Filler filler(pod, volume, node, Filler::Task::kFill);
  for (const VolumeSource& source : volume.sources)
    if (auto added = filler.Add(source); !added) return Wrap(std::move(added).error(), "volume " + volume.name);
  return std::move(filler).Take();
}

}  // namespace berth::pods
