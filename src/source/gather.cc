#include "source/gather.h"

#include <map>
#include <utility>

#include "manifest/manifest.h"
#include "source/static_pod.h"

namespace berth::source {
namespace {

using ByName = std::map<std::string, const FoundPod*>;

/// A uid names one pod: of several that were given the same, the one in the first place stays.
void DropSharedUids(ByName& by_name, std::vector<SourceProblem>& problems) {
  std::map<std::string, const FoundPod*> first;
  for (const auto& [name, found] : by_name) {
    const auto [it, added] = first.try_emplace(found->pod->uid, found);
    if (!added && found->place < it->second->place) it->second = found;
  }
  std::erase_if(by_name, [&](const auto& item) {
    const auto& [name, found] = item;
    const FoundPod& kept = *first.find(found->pod->uid)->second;
    if (&kept == found) return false;
    problems.push_back({found->place, name + " has the uid \"" + found->pod->uid + "\" of " + FullName(*kept.pod) +
                                          " in " + kept.place + " and is left out; remove metadata.uid from " +
                                          found->place + ", or give it one of its own"});
    return true;
  });
}

}  // namespace

void Gather(const std::vector<FoundPod>& found, Snapshot& out) {
  ByName by_name;
  for (const FoundPod& item : found) {
    auto [it, added] = by_name.insert_or_assign(FullName(*item.pod), &item);
    if (!added) out.problems.push_back({item.place, it->first + " stands in more than one place; the last one wins"});
  }
  DropSharedUids(by_name, out.problems);
  for (const auto& [name, item] : by_name) {
    out.files.emplace(name, item->place);
    out.identities.emplace(name, IdentityOf(*item->pod));
    out.pods.push_back(item->pod);
  }
}

void GatherDocuments(const std::vector<FoundDocument>& found, Snapshot& out) {
  std::size_t bytes = 0;
  for (const FoundDocument& item : found) {
    const std::string name = NameOf(*item.document);
    for (const auto* values : {&item.document->data, &item.document->binary})
      for (const auto& [key, value] : *values) bytes += key.size() + value.size();
    if (bytes > kMostDocumentBytes) {
      out.problems.push_back({item.place, name + " is left out: all ConfigMaps and Secrets together are more than " +
                                              std::to_string(kMostDocumentBytes >> 20) + " MiB; remove some"});
      return;
    }
    const auto [it, added] = out.documents.insert_or_assign(name, item.document);
    if (!added) out.problems.push_back({item.place, name + " stands in more than one place; the last one wins"});
    out.files.insert_or_assign(name, item.place);
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
  BERTH_TRY(manifest::ParsedPods parsed, manifest::ParsePods(text, from.place, from.pods));
  ReadPods out;
  for (Pod& pod : parsed.pods) {
    MakeStatic(pod, from.node_name, from.scheme + ":" + from.place, from.source);
    out.pods.push_back(std::make_shared<const Pod>(std::move(pod)));
  }
  for (ConfigDocument& document : parsed.documents)
    out.documents.push_back(std::make_shared<const ConfigDocument>(std::move(document)));
  for (const manifest::Warning& warning : parsed.warnings)
    out.warnings.push_back({from.place, warning.where + ": " + warning.message, from.source});
  return out;
}

bool Note(std::string& slot, const std::string& text) { return std::exchange(slot, text) != text; }

}  // namespace berth::source
