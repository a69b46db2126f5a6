#include "runtime/cri/shared.h"

#include "host/os/clock.h"
#include "runtime/cri/cri_specs.h"

namespace berth::cri {
namespace {

constexpr os::Millis kSuspicion{1'000};

}  // namespace

void Shared::Took(const runtime::ContainerStatus& status, const std::optional<std::string>& recorded) {
  const MutexLock lock(mutex);
  containers.Take(status, recorded);
  news.push_back(status);
  WakeLoop();
}

void Shared::Tell(runtime::ContainerStatus status) {
  const MutexLock lock(mutex);
  news.push_back(std::move(status));
  WakeLoop();
}

void Shared::Notify(runtime::Notice notice) {
  const MutexLock lock(mutex);
  notices.push_back(std::move(notice));
  WakeLoop();
}

void Shared::WarnOf(const std::string& what, const Error& error) {
  if (error.code == Code::kUnreachable || error.code == Code::kCancelled) return LookSoon();
  Warn(what + ": " + error.message + "; tried again");
}

void Shared::LookSoon() {
  const MutexLock lock(mutex);
  pace.Expect(os::SystemClock().Now());
  pace.Hear();
  changed.NotifyAll();
}

void Shared::SuspectSandboxes() {
  const MutexLock lock(mutex);
  suspicious_until = os::SystemClock().Now() + kSuspicion;
}

void Shared::DoubtAfter(const std::string& uid, const Error& error) {
  if (!MayBeDone(error.code)) return;
  const MutexLock lock(mutex);
  sandboxes.Doubt(uid);
}

Labels Shared::OwnLabels() const { return {{kOwner, options.owner}}; }

Labels Shared::LabelsOfPod(const std::string& uid) const { return {{kOwner, options.owner}, {kPodUid, uid}}; }

}  // namespace berth::cri
