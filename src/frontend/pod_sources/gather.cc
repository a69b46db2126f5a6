#include "frontend/pod_sources/gather.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "frontend/pod_sources/static_pod.h"
#include "manifest/document_tree.h"
#include "manifest/manifest.h"

namespace berth::pod_sources {
namespace {

std::string IdentityOfFound(const FoundPod& item) {
  return item.identity.empty() ? IdentityOf(*item.pod) : item.identity;
}

/// The lower, the better: what runs stays, whatever else comes.
int RankOf(const FoundPod& item, const Standing& before) {
  const auto counted = before.counted.find(FullName(*item.pod));
  if (counted != before.counted.end()) return counted->second == item.place ? 0 : 3;
  if (before.running.contains(item.pod->uid)) return 1;
  return !before.running.empty() && before.running.contains(IdentityOfFound(item)) ? 2 : 3;
}

template <class Found>
SourceProblem IgnoredFor(const Found& item, const std::string& name, const std::string& counts) {
  return {item.place,
          item.place + ": " + name + " is ignored, because " + counts +
              " holds it too and counts; give one of them another name, or remove it",
          item.source};
}

std::size_t BytesOfAll(const ReadPods& read) {
  constexpr std::size_t kStorageCopies = 4;  // it is joined with that of other files, and decoded, for each user of it
  std::size_t out = kStorageCopies * read.storage.size();
  for (const auto& pod : read.pods) out += BytesOf(*pod);
  for (const auto& document : read.documents) out += BytesOf(*document);
  for (const SourceProblem& warning : read.warnings)
    out += sizeof(SourceProblem) + warning.file.size() + warning.message.size();
  return out;
}

}  // namespace

void Gather(const std::vector<FoundPod>& found, const Standing& before, Snapshot& out) {
  std::vector<std::pair<int, const FoundPod*>> order;
  order.reserve(found.size());
  for (const FoundPod& item : found) order.emplace_back(RankOf(item, before), &item);
  std::ranges::stable_sort(order, {}, [](const auto& ranked) { return ranked.first; });
  std::map<std::string, const FoundPod*> by_name;
  std::map<std::string, const FoundPod*> by_uid;
  for (const auto& [rank, item] : order) {
    const std::string name = FullName(*item->pod);
    if (const auto same = by_name.find(name); same != by_name.end()) {
      out.problems.push_back(IgnoredFor(*item, name, same->second->place));
    } else if (const auto [kept, added] = by_uid.try_emplace(item->pod->uid, item); !added) {
      out.problems.push_back({item->place,
                              name + " has the uid \"" + item->pod->uid + "\" of " + FullName(*kept->second->pod) +
                                  " in " + kept->second->place + " and is left out; remove metadata.uid from " +
                                  item->place + ", or give it one of its own",
                              item->source});
    } else {
      by_name.emplace(name, item);
    }
  }
  for (const auto& [name, item] : by_name) {
    out.files.emplace(name, item->place);
    out.identities.emplace(name, IdentityOfFound(*item));
    out.pods.push_back(item->pod);
  }
}

void GatherDocuments(const std::vector<FoundDocument>& found, const Standing& before, Snapshot& out) {
  std::vector<const FoundDocument*> order;
  for (const FoundDocument& item : found) order.push_back(&item);
  std::ranges::stable_partition(order, [&](const FoundDocument* item) {
    const auto counted = before.counted.find(NameOf(*item->document));
    return counted != before.counted.end() && counted->second == item->place;
  });
  for (const FoundDocument* item : order) {
    const std::string name = NameOf(*item->document);
    if (!out.documents.try_emplace(name, item->document).second)
      out.problems.push_back(IgnoredFor(*item, name, out.files.at(name)));
    else
      out.files.emplace(name, item->place);
  }
}

std::string WhyImmutable(const std::vector<std::shared_ptr<const ConfigDocument>>& before,
                         const std::vector<std::shared_ptr<const ConfigDocument>>& now) {
  for (const auto& old : before) {
    if (!old->immutable) continue;
    for (const auto& document : now)
      if (NameOf(*document) == NameOf(*old) && *document != *old)
        return NameOf(*old) +
               " is immutable and stays as it was; give the new content another name, or remove the file and put it "
               "back";
  }
  return "";
}

Result<ReadPods> ReadStaticPods(std::string_view text, const StaticText& from) {
  const std::string key = os::WorkNotes::KeyOf("manifest", text, from.place);
  if (from.notes != nullptr && from.notes->IsSetAside(key))
    return Fail(Code::kInvalid, from.place + ": " + from.notes->Explain("the manifest"));
  const os::WorkNotes::Work noted(from.notes, key);
  manifest::PodOptions options = from.pods;
  options.origin = from.place;
  options.on_node = [&](const Pod& pod) {
    std::vector<manifest::FieldProblem> problems;
    if (std::string problem = NameLengthProblem(pod, from.node_name); !problem.empty())
      problems.push_back({.path = "metadata.name", .text = std::move(problem)});
    return problems;
  };
  BERTH_TRY(manifest::ParsedPods parsed, manifest::ParsePods(text, from.place, options));
  ReadPods out;
  out.storage = std::move(parsed.storage);
  for (Pod& pod : parsed.pods) {
    MakeStatic(pod, from.node_name, from.scheme + ":" + from.place, from.source);
    out.pods.push_back(std::make_shared<const Pod>(std::move(pod)));
  }
  for (ConfigDocument& document : parsed.documents)
    out.documents.push_back(std::make_shared<const ConfigDocument>(std::move(document)));
  for (const auto* list : {&parsed.warnings, &parsed.made})
    for (const manifest::Warning& warning : *list)
      out.warnings.push_back({from.place, warning.where + ": " + warning.message, from.source});
  out.bytes = BytesOfAll(out);
  return out;
}

bool Note(std::string& slot, const std::string& text) { return std::exchange(slot, text) != text; }

}  // namespace berth::pod_sources
