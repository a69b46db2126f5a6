#include "berth/tree.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/units.h"
#include "view/size.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using codec::Json;
using view::Cell;
using view::Style;

/// Two blanks a level; below the root everything is one level down.
std::string Indent(const std::string& path) {
  return std::string(2 * static_cast<std::size_t>(1 + std::ranges::count(path, '/')), ' ');
}

std::string LastName(const std::string& path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

/// Keeps the values that differ, and the groups that have some or could not be read.
Json OnlyWrong(const Json& tree) {
  Json out = tree;
  out["groups"] = Json::array();
  for (const Json& group : Member(tree, "groups")) {
    Json kept = group;
    kept["values"] = Json::array();
    for (const Json& value : Member(group, "values"))
      if (!Flag(value, "same")) kept["values"].push_back(value);
    if (!kept["values"].empty() || !Text(group, "problem").empty()) out["groups"].push_back(std::move(kept));
  }
  return out;
}

void AddGroup(const Json& group, view::Table& table) {
  const std::string path = Text(group, "path");
  const std::string indent = Indent(path);
  const std::string problem = Text(group, "problem");
  table.AddRow({Cell(indent + LastName(path), Style::kBold), " ", " ",
                problem.empty() ? Cell(Text(group, "what")) : Cell(problem, Style::kWarn)});
  for (const Json& value : Member(group, "values")) {
    const bool same = Flag(value, "same");
    table.AddRow({indent + "  " + Text(value, "file"), Cell(Text(value, "found"), same ? Style::kPlain : Style::kWarn),
                  same ? Cell(" ") : Cell(Text(value, "wanted")), Text(value, "why")});
  }
}

std::string Counted(std::int64_t processes) {
  return std::to_string(processes) + (processes == 1 ? " process" : " processes");
}

/// Who lives outside of pods, and what he uses.
void AddHostGroup(const Json& group, view::Table& table) {
  const std::string problem = Text(group, "problem");
  const Json& memory = Member(group, "memory");
  std::string what = Text(group, "setting");
  if (memory.is_number()) what += ", working set " + view::FormatSize(Bytes{memory.get<std::int64_t>()});
  table.AddRow({Cell(Text(group, "path"), Style::kBold), Counted(Number(group, "processes")), " ",
                problem.empty() ? Cell(what) : Cell(problem, Style::kWarn)});
}

}  // namespace

int RunTree(const TreeOptions& options, const Session& session) {
  auto tree = session.Get("/v1/tree");
  if (!tree) return session.Report(tree.error());
  const Json shown = options.wrong ? OnlyWrong(*tree) : *std::move(tree);
  const Json& groups = Member(shown, "groups");
  const int status = options.wrong && !groups.empty() ? kFailed : kOk;
  if (!session.for_people()) {
    const int printed = session.PrintData(shown);
    return printed == kOk ? status : printed;
  }
  if (options.wrong && groups.empty()) {
    session.err() << "Every value is what it should be.\n";
    return kOk;
  }
  view::Table table({{"CGROUP"},
                     {"VALUE", view::Align::kRight},
                     {"SHOULD BE", view::Align::kRight},
                     {"WHY", view::Align::kLeft, true}});
  table.AddRow({Cell(Text(shown, "root"), Style::kBold), " ", " ",
                "cgroup " + Text(shown, "cgroupVersion") + ", driver " + Text(shown, "driver")});
  if (!options.wrong)
    for (const Json& group : Member(shown, "hostGroups")) AddHostGroup(group, table);
  for (const Json& group : groups) AddGroup(group, table);
  view::TableOptions layout = session.table();
  if (session.wide()) layout.width = 0;
  session.out() << table.Format(layout);
  return status;
}

}  // namespace berth::cli
