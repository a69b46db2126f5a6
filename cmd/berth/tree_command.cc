#include "berth/tree_command.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/views.h"
#include "view/size.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using view::Cell;
using view::Style;

/// Two blanks a level; below the root everything is one level down.
std::string Indent(const std::string& path) {
  return std::string(2 * static_cast<std::size_t>(1 + std::ranges::count(path, '/')), ' ');
}

std::string LastName(const std::string& path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

void AddValues(const std::vector<ValueLine>& values, const std::string& indent, view::Table& table) {
  for (const ValueLine& line : values)
    table.AddRow({indent + "  " + line.file, Cell(line.found, line.Same() ? Style::kPlain : Style::kWarn),
                  line.Same() ? Cell(" ") : Cell(line.wanted), line.why});
}

void AddGroup(const GroupView& group, view::Table& table) {
  const std::string indent = Indent(group.path);
  table.AddRow({Cell(indent + LastName(group.path), Style::kBold), " ", " ",
                group.problem.empty() ? Cell(group.what) : Cell(group.problem, Style::kWarn)});
  AddValues(group.values, indent, table);
}

std::string Counted(std::int64_t processes) {
  return std::to_string(processes) + (processes == 1 ? " process" : " processes");
}

/// Who lives outside of pods, and what he uses.
void AddHostGroup(const HostGroup& group, view::Table& table) {
  std::string what = group.setting;
  if (group.memory) what += ", working set " + view::FormatSize(*group.memory);
  table.AddRow({Cell(group.path, Style::kBold), Counted(group.processes), " ",
                group.problem.empty() ? Cell(what) : Cell(group.problem, Style::kWarn)});
  AddValues(group.values, "", table);
}

}  // namespace

void KeepWrong(TreeView& tree) {
  for (GroupView& group : tree.groups) std::erase_if(group.values, [](const ValueLine& line) { return line.Same(); });
  std::erase_if(tree.groups, [](const GroupView& group) { return group.values.empty() && group.problem.empty(); });
  for (HostGroup& group : tree.host_groups)
    std::erase_if(group.values, [](const ValueLine& line) { return line.Same(); });
  std::erase_if(tree.host_groups, [](const HostGroup& group) { return group.values.empty(); });
}

int RunTree(const TreeOptions& options, const Session& session) {
  auto tree = session.berthd().Tree();
  if (!tree) return session.Report(tree.error());
  if (options.wrong) KeepWrong(*tree);
  const bool wrong = options.wrong && !(tree->groups.empty() && tree->host_groups.empty());
  const int status = wrong ? kFailed : kOk;
  if (!session.for_people()) {
    const int printed = session.PrintData(codec::ToJson(*tree));
    return printed == kOk ? status : printed;
  }
  if (options.wrong && !wrong) {
    session.err() << "Every value is what it should be.\n";
    return kOk;
  }
  view::Table table({{"CGROUP"},
                     {"VALUE", view::Align::kRight},
                     {"SHOULD BE", view::Align::kRight},
                     {"WHY", view::Align::kLeft, true}});
  table.AddRow(
      {Cell(tree->root, Style::kBold), " ", " ", "cgroup " + tree->cgroup_version + ", driver " + tree->driver});
  for (const HostGroup& group : tree->host_groups) AddHostGroup(group, table);
  for (const GroupView& group : tree->groups) AddGroup(group, table);
  session.out() << table.Format(session.table());
  return status;
}

}  // namespace berth::cli
