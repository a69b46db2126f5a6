#include "host/cgroup/systemd_asker.h"

#include <algorithm>
#include <utility>

namespace berth::cgroup {
namespace {

/// An answer nobody asked for again by then says nothing about now.
constexpr os::Millis kFresh{2'000};
constexpr const char* kQueue = "systemd";
constexpr const char* kMake = "make unit";
constexpr const char* kStart = "start unit";

/// For calls whose only answer is that they worked.
Result<bool> Done(const Result<void>& result) {
  if (!result) return std::unexpected(result.error());
  return true;
}
Result<void> Checked(const Result<bool>& result) {
  if (!result) return std::unexpected(result.error());
  return {};
}

}  // namespace

bool SystemdAsker::Question::MovesCpus() const {
  return std::ranges::find(properties, "AllowedCPUs", &Property::name) != properties.end();
}

void SystemdAsker::Use(event_loop::Executor& executor, std::function<void()> answered) {
  tasks_.emplace(executor);
  answered_ = std::move(answered);
}

void SystemdAsker::Leave() {
  tasks_.reset();
  asked_.clear();
  moving_.clear();
  jobs_ = 0;
}

void SystemdAsker::DropStale() {
  const os::MonoTime now = os::SystemClock().Now();
  std::erase_if(asked_,
                [&](const auto& entry) { return entry.second->answer && now - entry.second->answered_at >= kFresh; });
}

void SystemdAsker::DropAnswer(const std::string& unit) {
  if (const auto found = asked_.find(unit); found != asked_.end() && found->second->answer) asked_.erase(found);
}

void SystemdAsker::DropAnswerOfMaking(const std::string& unit) {
  const auto found = asked_.find(unit);
  if (found == asked_.end()) return;
  const std::string& method = found->second->question.method;
  if (method == kMake || method == kStart) DropAnswer(unit);
}

bool SystemdAsker::asking() {
  DropStale();
  return !asked_.empty();
}

Result<bool> SystemdAsker::Ask(Question question, Job job) {
  if (!in_use()) {
    Result<bool> answer = job(*systemd_);
    Count(answer);
    return answer;
  }
  DropStale();
  const auto found = asked_.find(question.unit);
  if (found != asked_.end() && found->second->question == question) {
    Asked& asked = *found->second;
    if (!asked.answer) return Fail(Code::kBusy, question.method + " " + question.unit + ": systemd is being asked");
    Result<bool> answer = *std::move(asked.answer);
    asked_.erase(found);
    return answer;
  }
  const auto asked = std::make_shared<Asked>(Asked{.question = std::move(question), .answer = {}});
  const std::string& unit = asked->question.unit;
  if (asked->question.MovesCpus()) moving_.insert(unit);
  asked_.insert_or_assign(unit, asked);
  ++jobs_;
  tasks_->Submit<bool>(
      kQueue, [systemd = systemd_, job = std::move(job)] { return job(*systemd); },
      [this, asked](Result<bool> answer) { Answered(*asked, std::move(answer)); });
  return Fail(Code::kBusy, asked->question.method + " " + unit + ": systemd is being asked");
}

/// One that was refused has changed nothing.
void SystemdAsker::Count(const Result<bool>& answer) {
  if (answer && *answer) ++done_;
}

/// Another question may have taken the place of this one.
void SystemdAsker::Answered(Asked& asked, Result<bool> answer) {
  Count(answer);
  --jobs_;
  if (asked.question.MovesCpus()) moving_.extract(asked.question.unit);
  asked.answer = std::move(answer);
  asked.answered_at = os::SystemClock().Now();
  answered_();
  if (jobs_ > 0 || !in_use()) return;
  const auto rest = [systemd = systemd_]() -> Result<void> {
    systemd->Rest();
    return {};
  };
  tasks_->Submit<void>(kQueue, rest, [](const Result<void>&) {});
}

void SystemdAsker::Rest() {
  if (!in_use()) systemd_->Rest();
}

Result<bool> SystemdAsker::StartTransient(const std::string& unit, const std::vector<Property>& properties) {
  return Ask({.method = kMake, .unit = unit, .properties = properties},
             [=](Systemd& systemd) { return systemd.StartTransient(unit, properties); });
}

Result<void> SystemdAsker::Start(const std::string& unit) {
  return Checked(Ask({.method = kStart, .unit = unit, .properties = {}},
                     [=](Systemd& systemd) { return Done(systemd.Start(unit)); }));
}

Result<void> SystemdAsker::Set(const std::string& unit, const std::vector<Property>& properties, const Keep& keep) {
  return Checked(Ask({.method = "set properties of unit", .unit = unit, .properties = properties},
                     [=](Systemd& systemd) -> Result<bool> {
                       keep.read();
                       BERTH_RETURN_IF_ERROR(systemd.Set(unit, properties));
                       return Done(keep.restore());
                     }));
}

Result<void> SystemdAsker::Attach(const std::string& unit, int pid) {
  return Checked(Ask({.method = "move a process into unit", .unit = unit, .properties = {}, .pid = pid},
                     [=](Systemd& systemd) { return Done(systemd.Attach(unit, pid)); }));
}

Result<void> SystemdAsker::Stop(const std::string& unit) {
  return Checked(Ask({.method = "stop unit", .unit = unit, .properties = {}},
                     [=](Systemd& systemd) { return Done(systemd.Stop(unit)); }));
}

}  // namespace berth::cgroup
