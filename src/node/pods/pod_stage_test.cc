#include "node/pods/pod_stage.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace berth::pods {
namespace {

const Why kShort{.reason = "OutOfcpu", .message = "short of CPUs", .details = {"4 asked for"}};
const Why kEaten{.reason = "Evicted", .message = "memory was short", .details = {}};

struct Describer {
  std::string operator()(const Waiting& waiting) const {
    const std::uint64_t question = QuestionOf(waiting);
    return "waiting, " + WhyOf(waiting).reason + (question == 0 ? "" : " " + std::to_string(question));
  }
  std::string operator()(const Rejected& s) const { return "rejected, " + s.why.reason + At(s.admitted_at); }
  std::string operator()(const Admitted& s) const { return "admitted" + At(s.at); }
  std::string operator()(const Ending& s) const {
    static constexpr std::array kFolders{"", ", removing", ", gone"};
    return "ending" + (s.why.reason.empty() ? "" : ", " + s.why.reason) + At(s.admitted_at) +
           (s.rejected ? ", rejected" : "") + (s.place_free ? ", free" : "") +
           kFolders.at(static_cast<std::size_t>(s.folders));
  }
  std::string operator()(const Done& s) const { return "done" + At(s.admitted_at); }
  std::string operator()(const Foreign& s) const { return "foreign, " + s.why.reason; }

  static std::string At(const std::string& time) { return time.empty() ? "" : " at " + time; }
};

std::string Describe(const Stage& stage) { return std::visit(Describer(), stage); }

const std::vector<PodEvent> kEvents{pod_event::Wait{AskingPlugin{8}},
                                    pod_event::Answer{7},
                                    pod_event::Reject{{.why = kShort, .admitted_at = ""}},
                                    pod_event::Admit{"two"},
                                    pod_event::Evict{kEaten},
                                    pod_event::End(),
                                    pod_event::GiveBack(),
                                    pod_event::RemoveFolders(),
                                    pod_event::FoldersGone(),
                                    pod_event::Watch{kShort}};

struct Row {
  Stage stage;
  std::vector<std::string> after;  // each of kEvents; "": the stage as it was
};

TEST(PodStageTest, EveryEventInEveryStage) {
  const std::string asking = "waiting, AskingPlugin 8";
  const std::string rejected = "rejected, OutOfcpu";
  const std::string foreign = "foreign, OutOfcpu";
  const Ending ending{.why = {}, .admitted_at = "one"};
  Ending freed = ending;
  freed.place_free = true;
  Ending removing = freed;
  removing.folders = Ending::Folders::kBeingRemoved;
  Ending gone = freed;
  gone.folders = Ending::Folders::kGone;
  const std::vector<Row> rows = {
      {Waiting(NotDecided()), {asking, "", rejected, "admitted at two", "", "ending", "done", "", "", foreign}},
      {Waiting(LedgerNotSaved{"disk full"}),
       {asking, "", rejected, "admitted at two", "", "ending, LedgerNotSaved", "done", "", "", foreign}},
      {Waiting(AskingPlugin{7}),
       {asking, "waiting, AskingPlugin", rejected, "admitted at two", "", "ending, AskingPlugin", "done", "", "",
        foreign}},
      {Waiting(AllocatingDevices{7}),
       {asking, "waiting, AllocatingDevices", rejected, "admitted at two", "", "ending, AllocatingDevices", "done", "",
        "", foreign}},
      {Waiting(AllocatingDevices{9}),
       {asking, "", rejected, "admitted at two", "", "ending, AllocatingDevices", "done", "", "", foreign}},
      {Rejected{.why = {.reason = "SetAside", .message = ""}, .admitted_at = "", .place = 3},
       {asking, "", rejected, "", "", "ending, SetAside, rejected", "", "", "", foreign}},
      {Rejected{.why = kEaten, .admitted_at = "one"},
       {asking, "", rejected, "", "", "ending, Evicted at one, rejected", "", "", "", foreign}},
      {Admitted{.at = "one"},
       {asking, "", "", "", "rejected, Evicted at one", "ending at one", "done at one", "", "", foreign}},
      {ending,
       {"", "", "", "", "", "", "ending at one, free", "ending at one, removing", "ending at one, gone", foreign}},
      {freed, {"", "", "", "", "", "", "", "ending at one, free, removing", "ending at one, free, gone", foreign}},
      {removing, {"", "", "", "", "", "", "", "", "ending at one, free, gone", foreign}},
      {gone, {"", "", "", "", "", "", "", "ending at one, free, removing", "", foreign}},
      {Done{.admitted_at = "one"}, {"", "", "", "", "", "ending at one, free", "", "", "", foreign}},
      {Foreign{.why = kEaten}, {"", "", "", "admitted at two", "", "ending, Evicted", "", "", "", foreign}},
  };
  for (const Row& row : rows) {
    ASSERT_EQ(row.after.size(), kEvents.size());
    for (std::size_t i = 0; i < kEvents.size(); ++i) {
      SCOPED_TRACE(Describe(row.stage) + ", event " + std::to_string(i));
      const Stage after = Follow(row.stage, kEvents[i]);
      EXPECT_EQ(Describe(after), row.after[i].empty() ? Describe(row.stage) : row.after[i]);
      EXPECT_TRUE(!row.after[i].empty() || after == row.stage);
    }
  }
}

TEST(PodStageTest, EachReasonToWaitSaysItself) {
  EXPECT_EQ(WhyOf(Waiting(NotDecided())), Why());
  EXPECT_EQ(WhyOf(Waiting(LedgerNotSaved{"disk full"})), (Why{.reason = "LedgerNotSaved", .message = "disk full"}));
  EXPECT_EQ(WhyOf(Waiting(NodeUnderPressure{"pressed"})), (Why{.reason = "NodeUnderPressure", .message = "pressed"}));
  EXPECT_EQ(WhyOf(Waiting(WaitingForRelease{.message = "a ends", .details = {"2 CPUs"}})),
            (Why{.reason = "WaitingForRelease", .message = "a ends", .details = {"2 CPUs"}}));
  EXPECT_EQ(WhyOf(Waiting(WaitingForPlugin{"v.example/gpu"})),
            (Why{.reason = "WaitingForPlugin",
                 .message = "the device plug-in of v.example/gpu is not there, and is waited for"}));
  EXPECT_EQ(WhyOf(Waiting(AskingPlugin())),
            (Why{.reason = "AskingPlugin", .message = "a device plug-in is asked which devices it prefers"}));
  EXPECT_EQ(WhyOf(Waiting(AllocatingDevices())),
            (Why{.reason = "AllocatingDevices", .message = "device plug-ins are asked for its devices"}));
}

}  // namespace
}  // namespace berth::pods
