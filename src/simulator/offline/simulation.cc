#include "simulator/offline/simulation.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "model/resize_changes.h"
#include "simulator/offline/placement_text.h"
#include "simulator/offline/start_containers.h"

namespace berth::offline {
namespace {

std::unexpected<Error> Refuse(const std::string& what) { return Fail(Code::kInvalid, what); }

/// Follows which pods are there, to find steps that make no sense before the first one is taken.
class StepReader {
 public:
  StepReader(const Ledger& ledger, std::ostream& err) : err_(err) {
    for (const auto& [uid, pod] : ledger.pods) {
      uids_.insert(uid);
      present_.emplace(FullName(pod), Present{.uid = uid, .manifest = std::nullopt, .record = &pod});
    }
  }

  Result<std::vector<Step>> Read(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      constexpr std::string_view kRemove = "remove:";
      constexpr std::string_view kResize = "resize:";
      auto done = word.starts_with(kRemove)   ? Remove(word.substr(kRemove.size()))
                  : word.starts_with(kResize) ? ReadResize(word.substr(kResize.size()))
                                              : Add(word);
      if (!done) return std::unexpected(std::move(done).error());
    }
    if (steps_.empty())
      return Refuse(
          "nothing to do: give manifest files, resize:FILE to change pods, and remove:NAMESPACE/NAME for removals");
    return std::move(steps_);
  }

 private:
  Result<void> Add(const std::string& file) {
    BERTH_TRY(std::vector<Pod> pods, LoadPods(file, err_));
    for (Pod& pod : pods) {
      const std::string name = FullName(pod);
      if (present_.contains(name))
        return Refuse(file + ": the pod " + name + " is there already; remove it first with remove:" + name +
                      ", or change it with resize:" + file);
      if (pod.uid.empty()) pod.uid = FreshUid();
      if (!uids_.insert(pod.uid).second)
        return Refuse(file + ": the pod " + name + " has the uid " + pod.uid + " of another pod");
      present_.emplace(name, Present{.uid = pod.uid, .manifest = pod, .record = nullptr});
      steps_.emplace_back(AddStep{.file = file, .pod = std::move(pod)});
    }
    return {};
  }

  Result<void> ReadResize(const std::string& file) {
    BERTH_TRY(std::vector<Pod> pods, LoadPods(file, err_));
    for (Pod& pod : pods) {
      const std::string name = FullName(pod);
      const std::string what = "resize:" + file + ": the pod " + name;
      const auto there = present_.find(name);
      if (there == present_.end()) return Refuse(what + " is not there at that step");
      pod.uid = there->second.uid;
      if (const std::string why = WhyNoResize(there->second, pod); !why.empty()) return Refuse(what + " " + why);
      there->second.manifest = pod;
      steps_.emplace_back(ResizeStep{AddStep{.file = file, .pod = std::move(pod)}});
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

  /// A pod, rejected ones too: they can be removed.
  struct Present {
    std::string uid;
    std::optional<Pod> manifest;  // nullopt: of the ledger, which knows its containers
    const PodRecord* record = nullptr;
  };

  /// "" when it is one. Of a pod of the ledger only the containers are known.
  static std::string WhyNoResize(const Present& there, const Pod& wanted) {
    if (there.manifest) {
      if (WithoutAmounts(*there.manifest) != WithoutAmounts(wanted))
        return "differs in more than amounts of cpu, memory and huge pages, which would make another pod of it";
      const auto problem = WhyNotResizable(*there.manifest, wanted);
      return problem ? "cannot change " + problem->path + ": " + problem->why : "";
    }
    std::set<std::string> had;
    std::set<std::string> has;
    for (const Placement& placement : there.record->placements) had.insert(placement.container);
    ForEachContainer(wanted, [&](const Container& container, ContainerKind) { has.insert(container.name); });
    return had == has ? "" : "has other containers than in the ledger, which would make another pod of it";
  }

  std::ostream& err_;
  std::set<std::string> uids_;
  std::map<std::string, Present> present_;  // by full name
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

void Place(const Pod& pod, const LedgerDelta& admission, OfflineNode& node) {
  Apply(node.ledger, admission);
  StartContainers(node.node, node.ledger, pod.uid);
}

Outcome TakeStep(const Step& step, int number, OfflineNode& node) {
  if (const auto* add = std::get_if<AddStep>(&step)) {
    Outcome out{.number = number, .pod = FullName(add->pod), .added = *add};
    out.decision = allocator::Decide(node.node, node.ledger, add->pod, node.inputs, nullptr);
    if (const auto* admit = std::get_if<Admit>(&*out.decision)) Place(add->pod, admit->delta, node);
    return out;
  }
  if (const auto* resize = std::get_if<ResizeStep>(&step)) {
    const Pod& wanted = resize->wanted.pod;
    Outcome out{.number = number, .pod = FullName(wanted), .added = resize->wanted, .resized = true};
    out.decision = allocator::Resize(node.node, node.ledger, wanted, node.inputs, nullptr);
    if (const auto* admit = std::get_if<Admit>(&*out.decision)) Apply(node.ledger, admit->delta);
    return out;
  }
  const auto& remove = std::get<RemoveStep>(step);
  Outcome out{.number = number, .pod = remove.full_name};
  if (const PodRecord* pod = FindPod(node.ledger, remove.full_name)) {
    out.was_there = true;
    Apply(node.ledger, allocator::Release(node.node, node.ledger, std::string(pod->uid), nullptr));
  }
  return out;
}

Fit AddCopies(const AddStep& step, int asked, OfflineNode& node, const std::function<void(int fit)>& progress) {
  Fit out{.pod = FullName(step.pod), .asked = asked};
  AddStep copy = step;
  while (out.fit < asked) {
    const std::string number = "-" + std::to_string(out.fit);
    copy.pod.name = step.pod.name + number;
    copy.pod.uid = step.pod.uid + number;
    const Outcome outcome = TakeStep(copy, 0, node);
    if (const Reject* reject = Rejection(outcome)) {
      out.next = *reject;
      break;
    }
    progress(++out.fit);
  }
  return out;
}

// ---- for people ----

view::Table FitTable(const std::vector<Fit>& fits) {
  view::Table out({{"POD"}, {"FIT", view::Align::kRight}, {"ONE MORE", view::Align::kLeft, true}});
  for (const Fit& fit : fits) {
    std::string why = fit.next ? fit.next->reason : "not tried";
    if (fit.next && !fit.next->details.empty()) why += ": " + fit.next->details.front();
    out.AddRow({fit.pod, {std::to_string(fit.fit), fit.next ? view::Style::kPlain : view::Style::kGood}, why});
  }
  return out;
}

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

view::Cell ResultCell(const Outcome& outcome) {
  if (!outcome.evicted_for.empty()) return {"evicted for " + outcome.evicted_for, view::Style::kBad};
  const Reject* reject = Rejection(outcome);
  if (reject == nullptr)
    return {outcome.was_there ? "removed"
            : outcome.waited  ? "removed (it waited)"
                              : "removed (it held nothing)",
            view::Style::kDim};
  if (outcome.place > 0)
    return {"waits (" + std::to_string(outcome.place) + "): " + reject->reason, view::Style::kPlain};
  return {(outcome.resized ? "not resized: " : "rejected: ") + reject->reason, view::Style::kBad};
}

void AddRows(const Outcome& outcome, view::Table& table) {
  const std::string number = std::to_string(outcome.number);
  if (!outcome.decision) {
    table.AddRow({number, outcome.pod, "", "", "", "", "", "", ResultCell(outcome)});
    return;
  }
  const std::string qos(Name(QosOf(outcome.added->pod)));
  if (const Reject* reject = Rejection(outcome)) {
    table.AddRow({number, outcome.pod, reject->container, qos, "", "", "", "", ResultCell(outcome)});
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
                  {outcome.resized  ? "resized"
                   : outcome.waited ? "admitted (it waited)"
                                    : "admitted",
                   view::Style::kGood}});
}

std::string ReasonsText(const Outcome& outcome) {
  const Reject* reject = Rejection(outcome);
  if (reject == nullptr) return "";
  std::string out = "\nstep " + std::to_string(outcome.number) + ": " + outcome.pod + ": " + reject->message + "\n";
  for (const std::string& detail : reject->details) out += "  " + detail + "\n";
  return out;
}

// ---- for programs ----

codec::Json ToJson(const Fit& fit) {
  codec::Json out = {{"pod", fit.pod}, {"asked", fit.asked}, {"fit", fit.fit}};
  if (!fit.next) return out;
  out["reason"] = fit.next->reason;
  out["message"] = fit.next->message;
  out["details"] = fit.next->details;
  return out;
}

codec::Json ToJson(const Outcome& outcome) {
  using codec::Json;
  const bool evicted = !outcome.evicted_for.empty();
  const char* const action = outcome.resized ? "resize" : outcome.decision ? "add" : evicted ? "evict" : "remove";
  Json out = {{"step", outcome.number}, {"action", action}, {"pod", outcome.pod}};
  if (outcome.waited) out["waited"] = true;
  if (!outcome.decision) {
    if (evicted)
      out["for"] = outcome.evicted_for;
    else
      out["removed"] = outcome.was_there;
    return out;
  }
  out["file"] = outcome.added->file;
  out["uid"] = outcome.added->pod.uid;
  out["qosClass"] = Name(QosOf(outcome.added->pod));
  if (const Reject* reject = Rejection(outcome)) {
    out["admitted"] = false;
    if (outcome.place > 0) out["place"] = outcome.place;
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
