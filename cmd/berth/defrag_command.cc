#include "berth/defrag_command.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "allocator/engine.h"
#include "api/codec/views.h"
#include "host/os/clock.h"
#include "simulator/offline/pod_explanation.h"
#include "view/size.h"
#include "view/table.h"

namespace berth::cli {
namespace {

constexpr os::Millis kLookForMove{100};
constexpr std::chrono::seconds kInForce{10};  // after a move

int Failed(const Error& error, const Session& session) {
  session.err() << "berth: " << error.message << '\n';
  return kFailed;
}

/// It wants a place, has none, and is not kept out for another reason than room.
bool WaitsForRoom(const PodView& pod, const Ledger& ledger) {
  if (ledger.pods.contains(pod.uid) || pod.admitted_at || pod.reason == "SetAside" || pod.reason == "Evicted")
    return false;
  return pod.queue_place > 0 || pod.phase == PodPhase::kFailed || pod.phase == PodPhase::kPending;
}

/// Of the running node, in the order in which they wait.
Result<std::vector<Pod>> WaitingPods(const Session& session, const Ledger& ledger) {
  BERTH_TRY(PodList pods, session.berthd().Pods());
  std::ranges::stable_sort(pods.pods, {},
                           [](const auto& pod) { return std::pair(pod->queue_place == 0, pod->queue_place); });
  std::vector<Pod> out;
  for (const auto& pod : pods.pods) {
    if (!WaitsForRoom(*pod, ledger)) continue;
    auto details = session.berthd().GetPod(pod->namespace_, pod->name);
    if (details) out.push_back(std::move(details->manifest));
  }
  return out;
}

/// Those of a manifest that have no place yet, under a uid of their own.
Result<std::vector<Pod>> PodsOfFile(const std::string& file, const offline::OfflineNode& node, std::ostream& err) {
  BERTH_TRY(std::vector<Pod> pods, offline::LoadPods(file, err));
  std::vector<Pod> out;
  for (Pod& pod : pods) {
    const auto names = offline::NamesOf(FullName(pod), node.node_name);
    if (std::ranges::any_of(names, [&](const auto& name) { return FindPod(node.ledger, name) != nullptr; })) continue;
    if (pod.uid.empty() || node.ledger.pods.contains(pod.uid)) pod.uid = "asked-for-" + FullName(pod);
    out.push_back(std::move(pod));
  }
  return out;
}

void PrintRoom(const Room& room, const Session& session) {
  std::ostream& out = session.out();
  if (room.moves.empty()) {
    out << room.pod.pod << " fits as it is.\n";
    return;
  }
  out << room.pod.pod << " fits after " << room.moves.size() << (room.moves.size() == 1 ? " move" : " moves") << ", "
      << view::FormatSize(room.bytes) << " of memory to migrate at most"
      << (room.fewest ? "" : " (fewer moves may do: the search ended at its limit)") << ":\n";
  view::Table table(
      {{"", view::Align::kRight}, {"POD"}, {"CONTAINER"}, {"FROM AND TO"}, {"MEMORY", view::Align::kRight}});
  int number = 0;
  for (const Move& move : room.moves) {
    ++number;
    for (const MovedContainer& moved : move.containers)
      table.AddRow({std::to_string(number), move.pod, moved.from.container, MoveText(moved),
                    &moved == &move.containers.front() ? view::FormatSize(move.bytes) : ""});
  }
  out << table.Format(session.table());
}

void PrintPlan(const DefragPlan& plan, const Session& session) {
  for (const Room& room : plan.rooms) PrintRoom(room, session);
  for (const NoRoom& none : plan.without)
    session.out() << none.pod.pod
                  << (none.never ? " would not fit on the empty node either.\n"
                      : none.exhaustive
                          ? " gets no room by " + std::to_string(plan.most_moves) + " moves in all.\n"
                          : " gets no room by the moves that were looked at; the search ended at its limit.\n");
  if (plan.rooms.empty() && plan.without.empty()) session.out() << "No pod waits for room.\n";
}

/// The ledger has what the move says.
bool IsInForce(const Ledger& ledger, const Move& move) {
  const auto record = ledger.pods.find(move.request.uid);
  if (record == ledger.pods.end()) return false;
  return std::ranges::all_of(move.containers, [&](const MovedContainer& moved) {
    const Placement* const now = FindPlacement(record->second, moved.to.container);
    return now != nullptr && now->cpus == moved.to.cpus && now->memory == moved.to.memory;
  });
}

Result<void> MakeOne(const Move& move, const Session& session) {
  BERTH_TRY(const Move made, session.berthd().MoveContainer(move.request));
  const os::MonoTime until = os::SystemClock().Now() + kInForce;
  while (os::SystemClock().Now() < until) {
    BERTH_TRY(const Ledger ledger, session.berthd().GetLedger());
    if (IsInForce(ledger, made)) return {};
    std::this_thread::sleep_for(kLookForMove);
  }
  return Fail(Code::kTimeout, "the move of " + move.pod + " was asked for and is not in the ledger; see berth events");
}

int Make(const DefragPlan& plan, const DefragOptions& options, const Session& session) {
  const auto pause = std::chrono::milliseconds(60'000 / options.per_minute);
  bool first = true;
  for (const Room& room : plan.rooms)
    for (const Move& move : room.moves) {
      if (!std::exchange(first, false)) std::this_thread::sleep_for(pause);
      if (const auto made = MakeOne(move, session); !made) return session.Report(made.error());
      if (session.for_people()) session.out() << "moved " << move.pod << ": " << MoveText(move) << std::endl;
    }
  return kOk;
}

}  // namespace

int RunDefrag(const DefragOptions& options, const Session& session) {
  offline::OfflineOptions where = options.node;
  const bool on_paper = !where.machine.empty() || !where.config.empty() || !where.ledger.empty();
  if (on_paper && options.apply)
    return Failed({Code::kInvalid, 0, "--apply is for the running node; leave -m, -c and --ledger out"}, session);
  if (on_paper && options.file.empty())
    return Failed({Code::kInvalid, 0, "say with -f which pods to make room for"}, session);
  if (std::error_code ignored; !on_paper && !std::filesystem::is_socket(session.socket(), ignored)) {
    session.err()
        << "berth: no berthd listens on " << session.socket()
        << "; start one, name its socket with --socket, or plan offline with --machine, --config and --ledger\n";
    return kUnreachable;
  }
  if (!on_paper) where.ledger = session.socket();
  const auto node = offline::LoadOfflineNode(where, session.err());
  if (!node) return on_paper ? Failed(node.error(), session) : session.Report(node.error());
  const auto pods =
      options.file.empty() ? WaitingPods(session, node->ledger) : PodsOfFile(options.file, *node, session.err());
  if (!pods) return on_paper ? Failed(pods.error(), session) : session.Report(pods.error());
  const DefragPlan plan =
      allocator::PlanDefrag(node->node, node->ledger, *pods, node->inputs, {.moves = options.moves});
  if (session.for_people())
    PrintPlan(plan, session);
  else
    session.PrintData(codec::ToJson(plan));
  if (options.apply)
    if (const int status = Make(plan, options, session); status != kOk) return status;
  return plan.without.empty() ? kOk : kRejected;
}

}  // namespace berth::cli
