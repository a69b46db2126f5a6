#include "daemon/kept_reservations.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text_record.h"
#include "base/units.h"
#include "daemon/reserved_groups.h"
#include "host/cgroup/systemd.h"
#include "host/cgroup/value_lines.h"
#include "host/os/volatile_file.h"
#include "model/tree_view.h"

namespace berth::daemon {
namespace {

constexpr std::string_view kReservationsKind = "berth-reserved 1";

void ReadReservation(RecordReader& in, const RecordReader::Field& field, CgroupValues& out) {
  const auto& [key, value] = field;
  if (key == "shares")
    in.ReadNumber(key, value, out.shares.emplace());
  else if (key == "memory_max")
    in.ReadNumber(key, value, out.memory_max.emplace().v);
  else if (key == "memory_min")
    in.ReadNumber(key, value, out.memory_min.emplace().v);
  else if (key == "pids_max")
    in.ReadNumber(key, value, out.pids_max.emplace());
  else if (key == "hugetlb")
    out.hugetlb.emplace();
}

/// The group has what was written, as the kernel of this host keeps it.
bool IsAsWritten(const CgroupValues& written, const CgroupValues& found, const cgroup::Layout& layout) {
  const std::vector<ValueLine> lines =
      cgroup::Compare(cgroup::WithControllersOf(layout, written), found, layout, {}, Bytes{::sysconf(_SC_PAGESIZE)});
  return !lines.empty() && std::ranges::all_of(lines, [](const ValueLine& line) { return line.Same(); });
}

}  // namespace

std::string FormatReservations(const std::vector<KeptReservation>& kept) {
  RecordWriter out(kReservationsKind);
  for (const auto& [path, values] : kept) {
    out.Item("group", path);
    if (values.shares) out.Number("shares", *values.shares);
    if (values.memory_max) out.Number("memory_max", values.memory_max->v);
    if (values.memory_min) out.Number("memory_min", values.memory_min->v);
    if (values.pids_max) out.Number("pids_max", *values.pids_max);
    if (values.hugetlb) out.Number("hugetlb", 0);
  }
  return out.Finish();
}

Result<std::vector<KeptReservation>> ParseReservations(std::string_view text) {
  RecordReader in(text, kReservationsKind);
  std::vector<KeptReservation> out;
  for (const RecordReader::Field& field : in.fields()) {
    if (field.first == "group")
      out.push_back({.path = field.second, .values = {}});
    else if (!out.empty())
      ReadReservation(in, field, out.back().values);
  }
  if (!in.error().empty()) return Fail(Code::kCorrupt, in.error());
  return out;
}

KeptReservations::KeptReservations(std::string file, cgroup::Driver driver,
                                   const std::vector<cgroup::ReservedGroup>& groups)
    : file_(std::move(file)), driver_(driver), text_(os::ReadFile(file_)) {
  if (!text_ && text_.error().code == Code::kNotFound) text_ = "";
  for (const cgroup::ReservedGroup& group : groups)
    if (auto path = PathOfReserved(driver, group)) now_.push_back({.path = *std::move(path), .values = group.values});
}

std::vector<std::string> KeptReservations::GiveBack(const OpenRoot& open, const cgroup::Layout& layout) {
  if (!text_) return {text_.error().message + "; what it keeps stays in groups of the host until a start can read it"};
  std::vector<std::string> problems;
  std::vector<KeptReservation> both = now_;
  if (!text_->empty()) {
    const auto kept = ParseReservations(*text_);
    if (!kept) problems.push_back(file_ + ": " + kept.error().message + "; what it kept stays in groups of the host");
    for (const KeptReservation& one : kept.value_or(std::vector<KeptReservation>())) {
      if (const auto done = GiveBackOne(one, open, layout); !done) {
        problems.push_back("give back what was reserved for cgroup " + one.path + ": " + done.error().message);
        failed_.push_back(one);
      }
      if (std::ranges::find(both, one) == both.end()) both.push_back(one);
    }
  }
  if (auto saved = Save(std::move(both)); !saved)
    problems.push_back("keep what is reserved for groups of the host: " + saved.error().message);
  return problems;
}

Result<void> KeptReservations::Enforced() {
  std::vector<KeptReservation> list = now_;
  list.insert(list.end(), failed_.begin(), failed_.end());
  return Save(std::move(list));
}

Result<void> KeptReservations::Save(std::vector<KeptReservation> list) {
  if (!text_) return std::unexpected(text_.error());
  if (list.empty() && text_->empty()) return {};  // there was never anything
  const std::string text = FormatReservations(list);
  if (text == *text_) return {};
  BERTH_RETURN_IF_ERROR(os::ReplaceVolatile(file_, text));
  text_ = text;
  return {};
}

Result<void> KeptReservations::GiveBackOne(const KeptReservation& kept, const OpenRoot& open,
                                           const cgroup::Layout& layout) const {
  BERTH_TRY(std::unique_ptr<os::Fs> fs, open());
  cgroup::Layout present = layout;  // the hierarchies that have it: elsewhere its values went with it
  present.controllers.clear();
  bool anywhere = false;
  for (const cgroup::ControllerMount& mount : layout.controllers) {
    BERTH_TRY(const bool there, fs->Exists(mount.mount + kept.path));
    anywhere |= there;
    // No tree is opened without cpuset: the group is made there again, with all CPUs of the one above.
    if (there || mount.controller == "cpuset") present.controllers.push_back(mount);
  }
  if (!anywhere) return {};
  BERTH_TRY(const auto seen, cgroup::Tree::OpenToLook(std::move(fs), present, kept.path));
  BERTH_TRY(const CgroupValues found, seen->Read(""));
  const CgroupValues lifts = LiftsOf(kept, found, present);
  if (lifts == CgroupValues()) return {};
  BERTH_TRY(fs, open());
  BERTH_TRY(const auto tree, cgroup::OpenTree(driver_, std::move(fs), present, kept.path));
  BERTH_TRY([[maybe_unused]] const int writes, tree->Write("", cgroup::WithControllersOf(present, lifts)));
  return {};
}

CgroupValues KeptReservations::LiftsOf(const KeptReservation& kept, const CgroupValues& found,
                                       const cgroup::Layout& layout) const {
  const CgroupValues unset = cgroup::UnsetReservedValues();
  CgroupValues out;
  const auto lift = [&](auto field) {
    const auto sets = [&](const KeptReservation& named) {
      return named.path == kept.path && (named.values.*field).has_value();
    };
    CgroupValues one;
    one.*field = kept.values.*field;
    if (one.*field && std::ranges::none_of(now_, sets) && IsAsWritten(one, found, layout)) out.*field = unset.*field;
  };
  lift(&CgroupValues::shares);
  lift(&CgroupValues::memory_max);
  lift(&CgroupValues::memory_min);
  lift(&CgroupValues::pids_max);
  lift(&CgroupValues::hugetlb);
  if (out.shares) out.weight = unset.weight;
  if (out.hugetlb) out.hugetlb_others = unset.hugetlb_others;
  return out;
}

}  // namespace berth::daemon
