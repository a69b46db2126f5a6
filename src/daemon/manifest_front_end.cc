#include "daemon/manifest_front_end.h"

#include <sys/stat.h>

#include <set>
#include <vector>

#include "host/os/lock_file.h"

namespace berth::daemon {
namespace {

constexpr unsigned kPublicFolder = 0755;

/// A folder that cannot be made is looked for again by the source. While pods are held it is not made: an empty folder
/// would end them all, and it may only have been moved away, or not be mounted yet.
Result<void> MakePodFolder(const FrontEndParts& parts, runtime::Runtime& runtime) {
  const std::string& folder = parts.settings.pod_dir;
  struct stat info{};
  if (::stat(folder.c_str(), &info) == 0) return {};
  BERTH_TRY(const std::vector<runtime::ContainerStatus> records, runtime.List());
  if ((parts.saved && !parts.saved->ledger.pods.empty()) || !records.empty()) {
    parts.warnings.push_back("the pod folder " + folder +
                             " is missing although pods of this node are known; they stay until it is back. If they "
                             "are to end, make an empty folder");
    return {};
  }
  if (auto made = os::MakeDirs(folder, kPublicFolder); !made) parts.warnings.push_back(made.error().message);
  return {};
}

}  // namespace

Result<std::unique_ptr<FrontEnd>> ManifestFrontEnd::Open(const FrontEndParts& parts, runtime::Runtime& runtime,
                                                         const manifest::PodOptions& pods) {
  BERTH_RETURN_IF_ERROR(MakePodFolder(parts, runtime));
  const Settings& settings = parts.settings;
  std::set<std::string> running;
  if (parts.saved)
    for (const auto& [uid, record] : parts.saved->ledger.pods) running.insert({uid, record.identity, FullName(record)});
  std::vector<std::unique_ptr<pod_sources::Source>> sources(1);
  BERTH_TRY(sources.front(), pod_sources::OpenFolder({.path = settings.pod_dir,
                                                      .node_name = settings.berth.node_name,
                                                      .period = settings.kubelet.file_check_frequency,
                                                      .only_trusted = settings.berth.manifest_owners == "root",
                                                      .running = running,
                                                      .notes = &parts.work_notes,
                                                      .pods = pods}));
  if (!settings.kubelet.static_pod_url.empty()) {
    pod_sources::HttpOptions options = UrlOptions(settings);
    options.notes = &parts.work_notes;
    options.pods = pods;
    BERTH_TRY(sources.emplace_back(), pod_sources::OpenHttp(std::move(options)));
  }
  BERTH_TRY(auto joined, pod_sources::JoinSources(std::move(sources), std::move(running)));
  return std::unique_ptr<FrontEnd>(new ManifestFrontEnd(parts, std::move(joined)));
}

Result<void> ManifestFrontEnd::Start(core::Node&, PodManager& manager) {
  manager_ = &manager;
  feed_ = std::make_unique<SourceFeed>(loop_, executor_, std::move(source_),
                                       [&manager](auto snapshot, os::MonoTime)
                                           BERTH_REQUIRES(loop_thread) { manager.OnSnapshot(std::move(snapshot)); });
  return feed_->Start();
}

bool ManifestFrontEnd::EndAll() {
  manager_->StopAll();
  return true;
}

}  // namespace berth::daemon
