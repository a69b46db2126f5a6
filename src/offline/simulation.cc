#include "offline/simulation.h"

#include <set>
#include <utility>

#include "base/text.h"
#include "offline/placement_text.h"
#include "offline/replay_run.h"

namespace berth::offline {
namespace {

std::unexpected<Error> Refuse(const std::string& what) { return Fail(Code::kInvalid, what); }

/// Follows which pods are there, to find steps that make no sense before the first one is taken.
class StepReader {
 public:
  StepReader(const Ledger& ledger, std::ostream& err) : err_(err) {
    for (const auto& [uid, pod] : ledger.pods) {
      uids_.insert(uid);
      present_.insert(FullName(pod));
    }
  }

  Result<std::vector<Step>> Read(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      constexpr std::string_view kRemove = "remove:";
      auto done = word.starts_with(kRemove) ? Remove(word.substr(kRemove.size())) : Add(word);
      if (!done) return std::unexpected(std::move(done).error());
    }
    if (steps_.empty()) return Refuse("nothing to do: give manifest files, and remove:NAMESPACE/NAME for removals");
    return std::move(steps_);
  }

 private:
  Result<void> Add(const std::string& file) {
    BERTH_TRY(std::vector<Pod> pods, LoadPods(file, err_));
    for (Pod& pod : pods) {
      const std::string name = FullName(pod);
      if (!present_.insert(name).second)
        return Refuse(file + ": the pod " + name + " is there already; remove it first with remove:" + name);
      if (pod.uid.empty()) pod.uid = FreshUid();
      if (!uids_.insert(pod.uid).second)
        return Refuse(file + ": the pod " + name + " has the uid " + pod.uid + " of another pod");
      steps_.emplace_back(AddStep{.file = file, .pod = std::move(pod)});
    }
    return {};
  }

  Result<void> Remove(std::string name) {
    if (!name.contains('/')) name = "default/" + name;
    if (present_.erase(name) == 0) return Refuse("remove:" + Printable(name) + ": there is no such pod at that step");
    steps_.emplace_back(RemoveStep{std::move(name)});
    return {};
  }

  std::string FreshUid() {
    std::string uid;
    do uid = "simulated-" + std::to_string(++fresh_);
    while (uids_.contains(uid));
    return uid;
  }

  std::ostream& err_;
  std::set<std::string> uids_;
  std::set<std::string> present_;  // rejected pods too: they can be removed
  std::vector<Step> steps_;
  int fresh_ = 0;
};

}  // namespace

const Reject* Rejection(const Outcome& outcome) {
  return outcome.decision ? std::get_if<Reject>(&*outcome.decision) : nullptr;
}

Result<std::vector<Step>> ReadSteps(const std::vector<std::string>& words, const Ledger& ledger, std::ostream& err) {
  return StepReader(ledger, err).Read(words);
}

Outcome TakeStep(const Step& step, int number, OfflineNode& node) {
  if (const auto* add = std::get_if<AddStep>(&step)) {
    Outcome out{.number = number, .pod = FullName(add->pod), .added = *add};
    out.decision = engine::Decide(node.node, node.ledger, add->pod, node.inputs, nullptr);
    if (const auto* admit = std::get_if<Admit>(&*out.decision)) {
      Apply(node.ledger, admit->delta);
      StartContainers(node.node, node.ledger, add->pod.uid);
    }
    return out;
  }
  const auto& remove = std::get<RemoveStep>(step);
  Outcome out{.number = number, .pod = remove.full_name};
  if (const PodRecord* pod = FindPod(node.ledger, remove.full_name)) {
    out.was_there = true;
    Apply(node.ledger, engine::Release(node.node, node.ledger, std::string(pod->uid), nullptr));
  }
  return out;
}

// ---- for people ----

view::Table OutcomeTable() {
  return view::Table({{"STEP", view::Align::kRight},
                      {"POD"},
                      {"CONTAINER"},
                      {"QOS"},
                      {"CPUS"},
                      {"MEMORY"},
                      {"DEVICES", view::Align::kLeft, true},
                      {"HINT"},
                      {"RESULT", view::Align::kLeft, true}});
}

void AddRows(const Outcome& outcome, view::Table& table) {
  const std::string number = std::to_string(outcome.number);
  if (!outcome.decision) {
    table.AddRow({number,
                  outcome.pod,
                  "",
                  "",
                  "",
                  "",
                  "",
                  "",
                  {outcome.was_there ? "removed" : "removed (it held nothing)", view::Style::kDim}});
    return;
  }
  const std::string qos(Name(QosOf(outcome.added->pod)));
  if (const Reject* reject = Rejection(outcome)) {
    table.AddRow({number,
                  outcome.pod,
                  reject->container,
                  qos,
                  "",
                  "",
                  "",
                  "",
                  {"rejected: " + reject->reason, view::Style::kBad}});
    return;
  }
  const auto& record = std::get<Admit>(*outcome.decision).delta.put;
  if (!record) return;
  for (const Placement& p : record->placements)
    table.AddRow({number,
                  outcome.pod,
                  ContainerLabel(p),
                  qos,
                  CpuText(p),
                  MemoryText(p),
                  DeviceText(p),
                  HintText(p.hint),
                  {"admitted", view::Style::kGood}});
}

std::string ReasonsText(const Outcome& outcome) {
  const Reject* reject = Rejection(outcome);
  if (reject == nullptr) return "";
  std::string out = "\nstep " + std::to_string(outcome.number) + ": " + outcome.pod + ": " + reject->message + "\n";
  for (const std::string& detail : reject->details) out += "  " + detail + "\n";
  return out;
}

// ---- for programs ----

codec::Json ToJson(const Outcome& outcome) {
  using codec::Json;
  Json out = {{"step", outcome.number}, {"action", outcome.decision ? "add" : "remove"}, {"pod", outcome.pod}};
  if (!outcome.decision) {
    out["removed"] = outcome.was_there;
    return out;
  }
  out["file"] = outcome.added->file;
  out["uid"] = outcome.added->pod.uid;
  out["qosClass"] = Name(QosOf(outcome.added->pod));
  if (const Reject* reject = Rejection(outcome)) {
    out["admitted"] = false;
    out["reason"] = reject->reason;
    out["message"] = reject->message;
    if (!reject->container.empty()) out["container"] = reject->container;
    out["details"] = reject->details;
    return out;
  }
  out["admitted"] = true;
  Json& containers = out["containers"] = Json::array();
  if (const auto& record = std::get<Admit>(*outcome.decision).delta.put)
    for (const Placement& p : record->placements) containers.push_back(codec::ToJson(p));
  return out;
}

}  // namespace berth::offline
