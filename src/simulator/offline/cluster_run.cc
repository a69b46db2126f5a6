#include "simulator/offline/cluster_run.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "simulator/offline/zone_view.h"

namespace berth::offline {
namespace {

constexpr double kRetry_s = 5;
constexpr std::size_t kSamples = 200;

/// How many nodes that can take a pod kube-scheduler looks for before it compares them.
std::size_t EnoughToCompare(std::size_t nodes, std::size_t percent) {
  constexpr std::size_t kFewest = 100;
  if (nodes < kFewest) return nodes;
  if (percent == 0) percent = std::max<std::size_t>(5, nodes / 125 < 50 ? 50 - nodes / 125 : 0);
  return std::max(kFewest, nodes * percent / 100);
}

/// A scheduler with one rule.
class Scheduler {
 public:
  Scheduler(cluster::Fleet& fleet, const ClusterRules& rules)
      : fleet_(fleet), rules_(rules), all_(fleet.Nodes().size()) {
    if (rules.rule == SchedulerRule::kTopology) view_.emplace(fleet);
  }

  /// The node it would send the pod to.
  std::optional<cluster::NodeIndex> Choose(const Pod& pod) {
    std::function<bool(cluster::NodeIndex)> also;
    if (view_) {
      asks_ = view_->AsksOf(pod);
      also = [this](cluster::NodeIndex node) { return view_->Passes(asks_, node); };
    }
    cluster::FittingInSum found = fleet_.FilterBySums(pod, next_, EnoughToCompare(all_, rules_.percent_to_score), also);
    next_ = static_cast<cluster::NodeIndex>((next_ + found.looked_at) % std::max<std::size_t>(1, all_));
    if (rules_.rule != SchedulerRule::kExtender) return Best(found.verdicts, cluster::Preference::kSpread);
    std::vector<cluster::NodeIndex> nodes;
    nodes.reserve(found.verdicts.nodes.size());
    for (const cluster::Verdict& verdict : found.verdicts.nodes) nodes.push_back(verdict.node);
    return Best(fleet_.Filter(pod, nodes), rules_.preference);
  }
  /// The pod of the last Choose was sent there.
  void Sent(cluster::NodeIndex node) {
    if (view_) view_->Reserve(asks_, node);
  }
  void Tick() {
    if (view_) view_->Resync();
  }

 private:
  /// The first of those with the highest score.
  std::optional<cluster::NodeIndex> Best(const cluster::Verdicts& verdicts, cluster::Preference preference) const {
    std::optional<cluster::NodeIndex> out;
    int best = -1;
    for (const cluster::Verdict& verdict : verdicts.nodes) {
      if (!verdict.admitted) continue;
      const int score = fleet_.Score(verdicts, verdict, preference);
      if (score <= best) continue;
      best = score;
      out = verdict.node;
    }
    return out;
  }

  cluster::Fleet& fleet_;
  ClusterRules rules_;
  std::size_t all_;
  cluster::NodeIndex next_ = 0;
  std::optional<ZoneView> view_;
  ZoneAsks asks_;
};

/// One simulation.
class Run {
 public:
  Run(cluster::Fleet& fleet, const Workload& workload, const ClusterRules& rules, const ClusterProgress& progress)
      : fleet_(fleet), workload_(workload), progress_(progress), scheduler_(fleet, rules), nodes_(fleet.Nodes()) {
    for (const PodKind& kind : workload.kinds) pods_.push_back(kind.pod);
  }

  ClusterOutcome Go(const ClusterRules& rules) {
    Fill();
    out_ = {.rules = rules, .came = workload_.arrivals.size() - workload_.filling};
    const std::size_t every = std::max<std::size_t>(1, out_.came / kSamples);
    for (std::size_t number = workload_.filling; number < workload_.arrivals.size(); ++number) {
      const Arrival& arrival = workload_.arrivals[number];
      Tell(number);
      AdvanceTo(arrival.at_s);
      if (Try(number)) {
        ++out_.at_once;
      } else {
        waiting_.push_back(number);
      }
      if ((number - workload_.filling + 1) % every == 0) Sample();
    }
    out_.waiting = waiting_.size();
    for (const cluster::NodeIndex node : nodes_) out_.cpus += fleet_.Figures(node).cpu_milli / 1000;
    return std::move(out_);
  }

 private:
  struct Leaving {
    double at_s = 0;
    std::size_t number = 0;
    cluster::NodeIndex node = 0;
    friend bool operator>(const Leaving& a, const Leaving& b) {
      return std::tie(a.at_s, a.number) > std::tie(b.at_s, b.number);
    }
  };

  void Tell(std::size_t number) const {
    constexpr std::size_t kEvery = 512;
    if (progress_ && number % kEvery == 0)
      progress_(static_cast<double>(number) / static_cast<double>(workload_.arrivals.size()));
  }

  /// A plug-in reads at a tick what nodes publish that it refused: that is what the second attempt is for.
  void Fill() {
    for (std::size_t number = 0; number < workload_.filling; ++number) {
      Tell(number);
      if (Try(number)) continue;
      scheduler_.Tick();
      Try(number);
    }
    scheduler_.Tick();
  }

  void AdvanceTo(double at_s) {
    while (true) {
      const bool leaves = !leaving_.empty() && leaving_.top().at_s <= at_s;
      const bool ticks = next_tick_s_ <= at_s;
      if (!leaves && !ticks) break;
      if (leaves && (!ticks || leaving_.top().at_s <= next_tick_s_)) {
        const Leaving pod = leaving_.top();
        leaving_.pop();
        now_s_ = pod.at_s;
        fleet_.Release(Uid(pod.number), pod.node);
        idle_ticks_ = 0;
      } else {
        now_s_ = next_tick_s_;
        next_tick_s_ += kRetry_s;
        Tick();
      }
    }
    now_s_ = at_s;
  }

  /// Twice in vain, with nothing changed: it will be so until something changes. (Once is not enough: a plug-in reads
  /// at the next tick what a node it refused publishes.)
  void Tick() {
    constexpr int kInVain = 2;
    if (idle_ticks_ == kInVain) return;
    ++idle_ticks_;
    scheduler_.Tick();
    std::set<std::uint32_t> no_node;  // kinds: what found none a moment ago finds none now
    std::deque<std::size_t> still;
    for (const std::size_t number : waiting_) {
      const std::uint32_t kind = workload_.arrivals[number].kind;
      if (no_node.contains(kind)) {
        still.push_back(number);
        continue;
      }
      const std::size_t rejected = out_.rejected;
      if (Try(number)) continue;
      still.push_back(number);
      if (rejected == out_.rejected) no_node.insert(kind);
    }
    waiting_ = std::move(still);
  }

  static std::string Uid(std::size_t number) { return "pod-" + std::to_string(number); }

  bool Try(std::size_t number) {
    const Arrival& arrival = workload_.arrivals[number];
    Pod& pod = pods_[arrival.kind];
    pod.uid = Uid(number);
    const std::optional<cluster::NodeIndex> node = scheduler_.Choose(pod);
    if (!node) return false;
    idle_ticks_ = 0;
    scheduler_.Sent(*node);
    if (!fleet_.Assume(pod, *node).admitted) {
      ++out_.rejected;
      return false;
    }
    fleet_.Start(pod.uid, *node);
    ++out_.admitted;
    out_.waited_s += now_s_ - arrival.at_s;
    leaving_.push({now_s_ + arrival.stays_s, number, *node});
    return true;
  }

  /// How many pods of the usual request the node has room for.
  std::int64_t MoreOf(const UsualRequest& usual, cluster::NodeIndex node, std::int64_t cpus,
                      std::int64_t memory) const {
    const auto fit = [&](std::int64_t have_cpus, std::int64_t have_memory) {
      const std::int64_t by_cpus = have_cpus / usual.cpus;
      return usual.memory == 0 ? by_cpus : std::min(by_cpus, have_memory / usual.memory);
    };
    const std::int64_t in_sum = fit(cpus, memory);
    if (fleet_.KindOf(node).exclusive_cpus == 0) return in_sum;
    std::int64_t on_zones = 0;
    for (const cluster::ZoneSpare& zone : fleet_.StateOf(node).spare.zones)
      on_zones += fit(zone.cpus, zone.memory < 0 ? memory : zone.memory);
    return std::min(in_sum, on_zones);
  }

  void Sample() {
    ClusterSample& sample = out_.samples.emplace_back();
    sample.at_s = now_s_;
    sample.running = leaving_.size();
    sample.waiting = waiting_.size();
    sample.rejected = out_.rejected;
    for (const cluster::NodeIndex node : nodes_) {
      const cluster::NodeFigures figures = fleet_.Figures(node);
      const std::int64_t cpus = std::max<std::int64_t>(0, figures.cpu_milli - figures.cpu_milli_requested) / 1000;
      const std::int64_t memory = std::max<std::int64_t>(0, figures.memory - figures.memory_requested);
      const std::int64_t more = MoreOf(workload_.usual, node, cpus, memory);
      sample.free_cpus += cpus;
      sample.free_memory += memory;
      sample.stranded_cpus += cpus - more * workload_.usual.cpus;
      sample.stranded_memory += memory - more * workload_.usual.memory;
    }
  }

  cluster::Fleet& fleet_;
  const Workload& workload_;
  const ClusterProgress& progress_;
  Scheduler scheduler_;
  std::vector<cluster::NodeIndex> nodes_;
  std::vector<Pod> pods_;  // by kind
  std::priority_queue<Leaving, std::vector<Leaving>, std::greater<>> leaving_;
  std::deque<std::size_t> waiting_;
  double now_s_ = 0;
  double next_tick_s_ = kRetry_s;
  int idle_ticks_ = 0;  // in a row, in which nobody found a node, and since which nobody has gone
  ClusterOutcome out_;
};

}  // namespace

std::string_view Name(SchedulerRule rule) {
  switch (rule) {
    case SchedulerRule::kDefault: return "default";
    case SchedulerRule::kTopology: return "topology";
    case SchedulerRule::kExtender: return "extender";
  }
  return "default";
}

std::string RowName(const ClusterRules& rules) {
  std::string out(Name(rules.rule));
  if (rules.percent_to_score != 0) out += ", " + std::to_string(rules.percent_to_score) + "%";
  return out;
}

ClusterOutcome RunCluster(cluster::Fleet& fleet, const Workload& workload, const ClusterRules& rules,
                          const ClusterProgress& progress) {
  return Run(fleet, workload, rules, progress).Go(rules);
}

ClusterMeans MeansOf(const ClusterOutcome& outcome) {
  ClusterMeans out;
  double free = 0;
  const std::size_t from = outcome.samples.size() / 2;
  for (std::size_t i = from; i < outcome.samples.size(); ++i) {
    out.stranded_cpus += static_cast<double>(outcome.samples[i].stranded_cpus);
    out.stranded_memory += static_cast<double>(outcome.samples[i].stranded_memory);
    free += static_cast<double>(outcome.samples[i].free_cpus);
  }
  const auto count = static_cast<double>(outcome.samples.size() - from);
  if (count == 0) return out;
  if (free > 0) out.fragmentation = out.stranded_cpus / free;
  if (outcome.cpus > 0) out.requested = 1 - free / count / static_cast<double>(outcome.cpus);
  out.stranded_cpus /= count;
  out.stranded_memory /= count;
  return out;
}

}  // namespace berth::offline
