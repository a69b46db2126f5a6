#include "berth/top_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "base/time_text.h"
#include "berth/screen.h"
#include "view/size.h"
#include "view/style.h"

namespace berth::cli {
namespace {

constexpr int kBackspace = 0x7f;
constexpr std::size_t kLongestFilter = 64;
constexpr int kWideScreen = 120;  // room for percents of requests and limits

void TypeFilter(TopChoices& choices, int key) {
  if (key == '\n' || key == '\r') {
    choices.typing = false;
  } else if (key == kKeyEscape) {
    choices.typing = false;
    choices.filter.clear();
  } else if (key == kBackspace || key == '\b') {
    if (!choices.filter.empty()) choices.filter.pop_back();
  } else if (key > ' ' && key < kBackspace && choices.filter.size() < kLongestFilter) {
    choices.filter += static_cast<char>(key);
  }
}

std::string OrderName(view::UsageOrder order) {
  if (order == view::UsageOrder::kCpu) return "CPU";
  return order == view::UsageOrder::kMemory ? "memory" : "name";
}

std::string HeadLine(const TopPicture& picture, const Machine& machine, const TopChoices& choices) {
  const GroupUsage& all = picture.stats.node.usage;
  std::string out = picture.stats.node.name + "  " + FormatTime(picture.stats.at).substr(11, 8);  // hh:mm:ss
  if (all.cores) out += fmt::format("  CPU {:.1f} of {}", *all.cores, machine.online.Count());
  if (all.working_set) {
    out += "  memory " + view::FormatSize(*all.working_set);
    if (const auto left = picture.stats.node.available; left)
      out += " of " + view::FormatSize(Bytes{all.working_set->v + left->v});
  }
  out += "  by " + OrderName(choices.order);
  if (choices.typing || !choices.filter.empty()) out += "  only '" + choices.filter + (choices.typing ? "_" : "'");
  return out;
}

std::string FootLine(const TopPicture& picture, const TopChoices& choices) {
  if (!picture.problem.empty()) return "nothing newer: " + Printable(picture.problem, 200);
  if (choices.typing) return "type a part of a name; Enter keeps it, Esc takes it away";
  return std::string("c CPU  m memory  n name  / only  v ") + (choices.places ? "pods" : "nodes") + "  h help  q quit";
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> out;
  for (const std::string_view line : Split(text, '\n')) out.emplace_back(line);
  if (!out.empty() && out.back().empty()) out.pop_back();
  return out;
}

constexpr std::string_view kHelp =
    "CPU        thousandths of one, since the look before\n"
    "MEMORY     the working set: what is charged less inactive file pages\n"
    "THROTTLED  part of the periods of its quota in which it had used that up, since the look before\n"
    "WAITING    part of the last ten seconds in which a process of it waited for a CPU / for memory (PSI)\n"
    "REMOTE     its memory on other NUMA nodes than those of its own CPUs and memory\n"
    "NODES      of its own CPUs and memory; none for one in the shared pool\n"
    "/REQ /LIM  percent of what the pod requests, and of its limit, on screens of 120 columns and with -o wide\n"
    "\n"
    "c m n      by CPU, memory, name         arrows, page keys   up and down\n"
    "/          only what has this in it     space               look at once\n"
    "v          nodes and caches, or pods    q                   end\n";

std::string BodyText(const TopPicture& picture, const Machine& machine, const TopChoices& choices,
                     const TopLook& look) {
  const view::TableOptions table{.width = look.width, .color = look.color};
  if (choices.help) return std::string(kHelp);
  if (choices.places) {
    const std::string places = view::PlaceUsageTable(picture.stats, machine, table);
    return places.empty() ? "nothing is known of nodes and caches\n" : places;
  }
  return view::PodUsageTable(picture.stats, picture.pods, machine,
                             {.order = choices.order,
                              .filter = choices.filter,
                              .table = table,
                              .shares = look.wide || look.width >= kWideScreen}) +
         "\n" + view::SumUsageTable(picture.stats, table);
}

}  // namespace

void PressKey(TopChoices& choices, int key, int page) {
  if (choices.typing) return TypeFilter(choices, key);
  switch (key) {
    case 'q': choices.quit = true; return;
    case 'c': choices.order = view::UsageOrder::kCpu; return;
    case 'm': choices.order = view::UsageOrder::kMemory; return;
    case 'n': choices.order = view::UsageOrder::kName; return;
    case '/': choices.typing = true; return;
    case 'h':
    case '?':
      choices.help = !choices.help;
      choices.scrolled = 0;
      return;
    case 'v':
      choices.places = !choices.places;
      choices.help = false;
      choices.scrolled = 0;
      return;
    case kKeyEscape:
      choices.filter.clear();
      choices.help = false;
      return;
    case ' ': choices.refresh = true; return;
    case 'k':
    case kKeyUp: choices.scrolled -= 1; return;
    case 'j':
    case kKeyDown: choices.scrolled += 1; return;
    case kKeyPageUp: choices.scrolled -= page; return;
    case kKeyPageDown: choices.scrolled += page; return;
    case kKeyHome: choices.scrolled = 0; return;
    case kKeyEnd: choices.scrolled = 1'000'000; return;
    default: return;
  }
}

std::vector<std::string> TopLines(const TopPicture& picture, const Machine& machine, TopChoices& choices,
                                  const TopLook& look) {
  constexpr int kAround = 3;  // first line, titles, last line
  std::vector<std::string> body = LinesOf(BodyText(picture, machine, choices, look));
  if (body.empty()) body.emplace_back();
  const int room = std::max(1, look.height - kAround);
  const int most = std::max(0, static_cast<int>(body.size()) - 1 - room);
  choices.scrolled = std::clamp(choices.scrolled, 0, most);
  const auto painted = [&](const std::string& text, view::Style style) {
    return view::Paint(view::CutToWidth(text, look.width), style, look.color);
  };
  std::vector<std::string> out = {painted(HeadLine(picture, machine, choices), view::Style::kBold)};
  out.push_back(body.front());  // titles stay
  for (int i = 0; i < room; ++i) {
    const auto at = static_cast<std::size_t>(1 + choices.scrolled + i);
    out.push_back(at < body.size() ? body[at] : "");
  }
  out.push_back(painted(FootLine(picture, choices), picture.problem.empty() ? view::Style::kDim : view::Style::kWarn));
  out.resize(static_cast<std::size_t>(std::clamp<int>(look.height, 1, static_cast<int>(out.size()))));
  return out;
}

}  // namespace berth::cli
