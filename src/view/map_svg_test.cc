// The map as a drawing: it is XML whatever is in it, every CPU is there once, and nothing comes from elsewhere.
#include "view/map_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "view/changes.h"

namespace berth::view {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

/// NUMA nodes of cores with two threads, numbered through.
Machine MachineOf(std::uint32_t nodes, std::uint32_t cores) {
  Machine out;
  out.source = "a test's";
  std::uint32_t next = 0;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    NumaNode& node = out.nodes.emplace_back();
    node.id = NumaId{n};
    node.memory = GiB(16);
    for (std::uint32_t other = 0; other < nodes; ++other) node.distances.push_back(other == n ? 10 : 21);
    for (std::uint32_t c = 0; c < cores; ++c, next += 2) {
      Core& core = node.cores.emplace_back();
      core.core_id = c;
      core.socket = SocketId{n};
      core.threads = {CpuId{next}, CpuId{next + 1}};
    }
  }
  out.present = out.online = UsableCpus(out);
  return out;
}

struct Board {
  explicit Board(Machine of) : machine(std::move(of)) { ledger.shared = machine.online; }
  void Give(const std::string& name, const std::string& cpus, const std::string& device = "") {
    PodRecord& pod = ledger.pods[name];
    pod.uid = pod.name = name;
    pod.namespace_ = "default";
    pod.sequence = ledger.next_sequence++;
    Placement& place = pod.placements.emplace_back();
    place.container = "app";
    place.cpus = *CpuSet::Parse(cpus);
    if (!device.empty()) place.devices.push_back({.resource = "example.com/nic", .ids = {device}});
    ledger.shared -= *place.cpus;
  }
  std::string Draw() const { return RenderMapSvg(machine, ledger, reserved, devices); }

  Machine machine;
  Ledger ledger;
  CpuSet reserved;
  DeviceInventory devices;
};

/// What of `text` is not XML as this component writes it: tags that do not match, stray signs; "": all of it is.
std::string WhyNoXml(std::string_view text) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find('<', at);
    const std::string_view words = text.substr(at, begin == std::string_view::npos ? begin : begin - at);
    for (std::size_t i = words.find('&'); i != std::string_view::npos; i = words.find('&', i + 1)) {
      const std::string_view entity = words.substr(i, words.find(';', i) - i);
      if (entity != "&amp" && entity != "&lt" && entity != "&gt" && entity != "&quot") return std::string(entity);
    }
    if (begin == std::string_view::npos) break;
    const std::size_t end = text.find('>', begin);
    if (end == std::string_view::npos) return "a tag without an end";
    const std::string_view tag = text.substr(begin + 1, end - begin - 1);
    if (tag.find('<') != std::string_view::npos) return "a tag in a tag: " + std::string(tag);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "the end of " + std::string(tag.substr(1));
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.emplace_back(tag.substr(0, tag.find(' ')));
    }
    at = end + 1;
  }
  return open.empty() ? "" : "no end of " + open.back();
}

std::size_t Count(std::string_view text, std::string_view what) {
  std::size_t out = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++out;
  return out;
}

TEST(MapSvgTest, ShowsWhoHoldsEachCpuWhereItIs) {
  Board board(MachineOf(2, 4));
  board.reserved = CpuSet::Range(0, 0);
  board.Give("web", "2-3");
  board.Give("db", "8-11", "n1");
  board.devices["example.com/nic"] = {{.id = "n1", .nodes = NodeSet::Range(1, 1)},
                                      {.id = "n2", .nodes = NodeSet::Range(1, 1), .healthy = false},
                                      {.id = "far", .nodes = {}}};
  const std::string svg = board.Draw();
  EXPECT_EQ(WhyNoXml(svg), "");
  for (int cpu = 0; cpu < 16; ++cpu) EXPECT_EQ(1U, Count(svg, "<title>CPU " + std::to_string(cpu) + ", core "));
  EXPECT_THAT(svg, HasSubstr("<title>CPU 0, core 0: reserved</title>"));
  EXPECT_THAT(svg, HasSubstr("<title>CPU 2, core 2: default/web/app</title>"));
  EXPECT_THAT(svg, HasSubstr("example.com/nic n1: default/db/app<"));
  EXPECT_THAT(svg, HasSubstr("example.com/nic n2: free, not healthy<"));
  EXPECT_THAT(svg, HasSubstr("devices on no NUMA node"));
  EXPECT_THAT(svg, ContainsRegex(">default/web</text><text [^>]*>2-3<"));
  EXPECT_THAT(svg, ContainsRegex("shared pool</text><text [^>]*>1,4-7,12-15<"));
  EXPECT_THAT(svg, HasSubstr("distances"));
  EXPECT_LT(svg.find("node 0<"), svg.find("node 1<"));
}

TEST(MapSvgTest, PciDevicesAreWhereTheySit) {
  Board board(MachineOf(2, 1));
  constexpr std::uint32_t kNetwork = 0x020000;
  constexpr std::uint32_t kBridge = 0x060400;
  const auto add = [&](const std::string& address, std::uint32_t class_id, std::optional<NumaId> node) {
    PciDevice& device = board.machine.pci.emplace_back();
    device.address = address;
    device.class_id = class_id;
    device.node = node;
  };
  add("0000:17:00.0", kNetwork, NumaId{1});
  board.machine.pci.back().name = "eth0";
  add("0000:00:01.0", kBridge, NumaId{0});
  add("0000:01:00.0", kNetwork, std::nullopt);
  const std::string svg = board.Draw();
  EXPECT_EQ(WhyNoXml(svg), "");
  EXPECT_LT(svg.find("node 1<"), svg.find("network 0000:17:00.0  eth0<"));
  EXPECT_LT(svg.find("devices on no NUMA node"), svg.find("network 0000:01:00.0<"));
  EXPECT_THAT(svg, Not(HasSubstr("0000:00:01.0"))) << "a bridge";
  for (int i = 0; i < 20; ++i) add("0000:3b:00." + std::to_string(i), kNetwork, NumaId{0});
  EXPECT_THAT(board.Draw(), HasSubstr("and 8 more PCI devices<"));
}

TEST(MapSvgTest, AnL3OfTwoNodesIsOneBox) {
  Machine machine = MachineOf(2, 2);
  for (NumaNode& node : machine.nodes)
    for (Core& core : node.cores) core.socket = SocketId{0};
  machine.l3 = {{.id = CacheId{7}, .size = {}, .cpus = CpuSet::Range(0, 7)}};
  const std::string one = Board(machine).Draw();
  EXPECT_EQ(WhyNoXml(one), "");
  EXPECT_EQ(1U, Count(one, "L3 7<"));
  EXPECT_LT(one.find("L3 7<"), one.find("node 0<"));
  machine.l3 = {{.id = CacheId{7}, .size = {}, .cpus = CpuSet::Range(0, 3)},
                {.id = CacheId{8}, .size = {}, .cpus = CpuSet::Range(4, 7)}};
  const std::string two = Board(machine).Draw();
  EXPECT_LT(two.find("node 0<"), two.find("L3 7<"));
  EXPECT_LT(two.find("node 1<"), two.find("L3 8<"));
}

TEST(MapSvgTest, NamesOfOthersAreOnlyText) {
  Board board(MachineOf(1, 2));
  const std::string wicked = "</title><script>alert(1)</script>\"&'\x01\xff";
  board.machine.source = wicked;
  board.Give("web", "0");
  board.ledger.pods["web"].name = wicked;
  board.devices[wicked] = {{.id = wicked, .nodes = NodeSet::Range(0, 0)}};
  const std::string svg = board.Draw();
  EXPECT_EQ(WhyNoXml(svg), "");
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_EQ(svg.find('\x01'), std::string::npos);
  EXPECT_EQ(svg.find('\xff'), std::string::npos);
}

TEST(MapSvgTest, NothingComesFromElsewhere) {
  const std::string svg = Board(MachineOf(2, 2)).Draw();
  for (const char* outside : {"url(", "@import", "href", "<script", "<image", "<foreignObject"})
    EXPECT_THAT(svg, Not(HasSubstr(outside)));
  EXPECT_EQ(1U, Count(svg, "http")) << "the name of the language";
}

TEST(MapSvgTest, ItHasItsOwnGround) {
  EXPECT_THAT(Board(MachineOf(1, 1)).Draw(), HasSubstr(" rx=\"0\" class=\"page\"/>")) << "dark text is on no dark page";
}

TEST(MapSvgTest, LargeMachinesLoseNumbersAndThreadsButNoCpu) {
  for (const std::uint32_t nodes : {8U, 32U, 64U}) {
    Board board(MachineOf(nodes, 16));
    board.Give("web", "0-5,32");
    const std::string svg = board.Draw();
    EXPECT_EQ(WhyNoXml(svg), "");
    EXPECT_EQ(std::size_t{nodes} * 32, Count(svg, "CPU ")) << nodes;
    EXPECT_LT(svg.size(), std::size_t{2} << 20);
  }
}

/// Width and height of the page.
std::pair<int, int> SizeOf(const std::string& svg) {
  constexpr std::string_view kBefore = "viewBox=\"0 0 ";
  const std::string both = svg.substr(svg.find(kBefore) + kBefore.size(), 20);
  return {std::stoi(both), std::stoi(both.substr(both.find(' ')))};
}

TEST(MapSvgTest, ManySocketsAndPodsFillAPage) {
  for (const std::uint32_t cores : {2U, 16U}) {
    for (const int pods : {0, 60, 500}) {
      Board board(MachineOf(64, cores));
      for (int i = 0; i < pods && i < static_cast<int>(64 * cores * 2); ++i)
        board.Give("pod-" + std::to_string(i), std::to_string(i));
      const auto [width, height] = SizeOf(board.Draw());
      EXPECT_LT(height, width * 3 / 2) << cores << " cores, " << pods << " pods: " << width << " x " << height;
      EXPECT_LT(width, height * 2) << cores << " cores, " << pods << " pods: " << width << " x " << height;
    }
  }
}

TEST(MapSvgTest, ChangesFillAPage) {
  Board board(MachineOf(16, 16));
  const Ledger before = board.ledger;
  for (int i = 0; i < 120; ++i) board.Give("pod-" + std::to_string(i), std::to_string(i));
  const auto [width, height] =
      SizeOf(RenderMapSvg(board.machine, board.ledger, board.reserved, board.devices, &before));
  EXPECT_LT(height, width * 3) << width << " x " << height;
}

TEST(MapSvgTest, MarksOfTwoLettersAreSmallerInSmallSquares) {
  Board board(MachineOf(16, 16));  // 512 CPUs: squares without numbers
  for (int i = 0; i < 60; ++i) board.Give("pod-" + std::to_string(i), std::to_string(i));
  EXPECT_THAT(board.Draw(), HasSubstr("class=\"m m2 on\">AB</text>"));
  Board few(MachineOf(16, 16));
  few.Give("web", "0");
  EXPECT_THAT(few.Draw(), HasSubstr("class=\"m on\">A</text>"));
}

TEST(MapSvgTest, ALongTitleIsWrapped) {
  Board board(MachineOf(1, 1));
  for (int i = 0; i < 30; ++i) board.machine.source += " and another word";
  const auto [width, height] = SizeOf(board.Draw());
  EXPECT_LT(width, 600);
}

TEST(MapSvgTest, ACpuThatTwoPodsHoldIsSeen) {
  Board board(MachineOf(1, 2));
  board.Give("one", "1");
  board.Give("two", "1");
  const std::string svg = board.Draw();
  EXPECT_THAT(svg, HasSubstr("class=\"c bad\""));
  EXPECT_THAT(svg, HasSubstr("held by two pods"));
}

TEST(MapSvgTest, MachinesWithoutMuchAreDrawnToo) {
  EXPECT_EQ(WhyNoXml(Board(Machine()).Draw()), "");
  Machine memory_only = MachineOf(1, 1);
  memory_only.nodes.emplace_back().id = NumaId{1};
  const std::string svg = Board(memory_only).Draw();
  EXPECT_EQ(WhyNoXml(svg), "");
  EXPECT_THAT(svg, HasSubstr("no CPUs"));
}

TEST(MapSvgTest, WhatIsAnotherThanBeforeHasALineAroundItAndSaysWhatItWas) {
  Board before(MachineOf(2, 2));
  before.Give("old", "2-3");
  Board after(MachineOf(2, 2));
  after.Give("new", "2");
  const std::string svg = RenderMapSvg(after.machine, after.ledger, after.reserved, after.devices, &before.ledger);
  EXPECT_EQ("", WhyNoXml(svg));
  EXPECT_THAT(svg, HasSubstr("CPU 2, core 2: default/new/app; before: default/old/app"));
  EXPECT_THAT(svg, HasSubstr("CPU 3, core 2: shared; before: default/old/app"));
  EXPECT_THAT(svg, HasSubstr("default/old/app: CPUs 2-3 → -"));
  EXPECT_EQ(2U, Count(svg, "class=\"was\"")) << "CPUs 2 and 3";
  EXPECT_THAT(after.Draw(), Not(HasSubstr("class=\"was\"")));
  Board large(MachineOf(8, 128));
  const Ledger empty = large.ledger;
  large.Give("big", "0-511");
  const std::string wide = RenderMapSvg(large.machine, large.ledger, large.reserved, large.devices, &empty);
  EXPECT_EQ("", WhyNoXml(wide));
  EXPECT_EQ(256U, Count(wide, "class=\"was\"")) << "a line for each core of two threads";
}

TEST(MapSvgTest, APageStandsByItself) {
  Board board(MachineOf(2, 2));
  board.machine.source = "<script>alert(1)</script>";
  board.Give("<b>web</b>", "2-3", "\"><img src=x>");
  const Ledger empty;
  const std::string page = RenderMapPage(board.machine, board.ledger, board.reserved, board.devices, &empty);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"")));
  EXPECT_THAT(page, Not(HasSubstr("href")));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("<td>2-3</td>"));
  EXPECT_THAT(page, HasSubstr("What changes"));
}

TEST(ChangesTest, NameWhoHoldsSomethingElse) {
  Board before(MachineOf(2, 2));
  before.Give("stays", "0");
  before.Give("moves", "2-3");
  before.Give("goes", "4");
  Board after(MachineOf(2, 2));
  after.Give("stays", "0");
  after.Give("moves", "6-7", "nic0");
  EXPECT_EQ(
      "WHO                WHAT     BEFORE  AFTER\n"
      "default/goes/app   CPUs     4       -\n"
      "default/moves/app  CPUs     2-3     6-7\n"
      "default/moves/app  devices  -       example.com/nic nic0\n"
      "shared pool        CPUs     1,5-7   1-5\n",
      ChangesTable(ChangesOf(before.ledger, after.ledger)));
  EXPECT_TRUE(ChangesOf(after.ledger, after.ledger).empty());
}

}  // namespace
}  // namespace berth::view
