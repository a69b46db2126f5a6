#include "kubernetes/node_publisher/publisher.h"

#include <algorithm>
#include <utility>

namespace berth::node_publisher {
namespace {

/// Whether anything that is published may differ: whatever did not change is shared between snapshots.
bool Differs(const Moment& a, const Moment& b) {
  if (a.node == nullptr) return true;
  const NodeSnapshot& x = *a.node;
  const NodeSnapshot& y = *b.node;
  return a.config != b.config || x.machine != y.machine || x.node != y.node || x.ledger != y.ledger ||
         x.devices != y.devices || !std::ranges::equal(x.pods, y.pods, {}, &PodSnapshot::view, &PodSnapshot::view);
}

bool NobodyAnswers(const Error& error) { return error.code == Code::kUnreachable || error.code == Code::kTimeout; }

}  // namespace

Publisher::Publisher(std::unique_ptr<Writer> writer, event_loop::Executor& executor, const os::Clock& clock,
                     const PublisherOptions& options, Tell tell)
    : writer_(std::move(writer)),
      tasks_(executor),
      clock_(clock),
      options_(options),
      tell_(std::move(tell)),
      random_(options.seed),
      unreachable_(options.unreachable),
      refused_(options.refused),
      next_look_(clock.Now() + options.settle) {}

void Publisher::Changed(Moment now) {
  const bool differs = Differs(newest_, now);
  newest_ = std::move(now);
  if (differs && !changed_at_) changed_at_ = clock_.Now();
}

os::MonoTime Publisher::next_due() const {
  if (busy_ || newest_.node == nullptr) return os::MonoTime::max();
  if (again_at_) return *again_at_;
  if (!begun_) return next_look_;
  return changed_at_ ? std::min(*changed_at_ + options_.gather, next_look_) : next_look_;
}

void Publisher::Tick(os::MonoTime now) {
  if (now < next_due()) return;
  const bool look = next_look_ <= now;
  if (look) next_look_ = now + options_.look + os::Millis(random_() % (options_.look.count() / 10 + 1));
  begun_ = true;
  busy_ = true;
  changed_at_.reset();
  again_at_.reset();
  tasks_.Submit<bool>(
      "publish " + std::string(kind()),
      [writer = writer_, moment = newest_, look, wall = clock_.Wall()] { return writer->Write(moment, look, wall); },
      [this](const Result<bool>& written) BERTH_REQUIRES(loop_thread) { Done(written); });
}

void Publisher::Done(const Result<bool>& written) {
  busy_ = false;
  figures_.current = written.has_value();
  if (!written || *written) ++figures_.writes.tried;
  if (!written) return Failed(written.error());
  if (std::exchange(problem_, std::nullopt)) tell_(false, "Published", std::string(kind()) + " is up to date again");
}

void Publisher::Failed(const Error& error) {
  ++figures_.writes.failed;
  const bool told = problem_ && problem_->code == error.code;
  problem_ = error;
  const os::MonoTime now = clock_.Now();
  const double chance = std::uniform_real_distribution<double>(0, 1)(random_);
  again_at_ = now + (NobodyAnswers(error) ? unreachable_ : refused_).Failed(now, chance);
  if (!told) tell_(true, "PublishingFailed", Warning() + "; it is tried again");
}

std::string Publisher::Warning() const {
  return problem_ ? std::string(kind()) + " may be out of date: " + problem_->message : "";
}

}  // namespace berth::node_publisher
