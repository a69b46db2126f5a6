// Manifest front end: pods of a folder and a URL, which Berth runs itself.
#ifndef BERTH_DAEMON_MANIFEST_FRONT_END_H_
#define BERTH_DAEMON_MANIFEST_FRONT_END_H_

#include <memory>
#include <utility>

#include "base/loop_thread.h"
#include "base/result.h"
#include "daemon/front_end.h"
#include "daemon/source_feed.h"
#include "frontend/pod_sources/source.h"
#include "manifest/pod_options.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::daemon {

class ManifestFrontEnd final : public FrontEnd {
 public:
  /// Opens the sources, with the folder made where it is missing: the API stores its manifests in it. `pods`: how they
  /// are read. Errors: of sources, and as Runtime::List.
  static Result<std::unique_ptr<FrontEnd>> Open(const FrontEndParts& parts, runtime::Runtime& runtime,
                                                const manifest::PodOptions& pods);

  Result<void> Start(core::Node& node, PodManager& manager) override BERTH_REQUIRES(loop_thread);
  bool EndAll() override BERTH_REQUIRES(loop_thread);

 private:
  ManifestFrontEnd(const FrontEndParts& parts, std::unique_ptr<pod_sources::Source> source)
      : loop_(parts.loop), executor_(parts.executor), source_(std::move(source)) {}

  event_loop::Loop& loop_;
  event_loop::Executor& executor_;
  std::unique_ptr<pod_sources::Source> source_;  // until Start
  std::unique_ptr<SourceFeed> feed_;             // from Start on
  PodManager* manager_ = nullptr;                // likewise
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_MANIFEST_FRONT_END_H_
