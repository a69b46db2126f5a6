#include "host/cgroup/systemd_tree.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/cgroup/hierarchy.h"
#include "host/cgroup/rehearsal_fs.h"
#include "host/cgroup/systemd_asker.h"
#include "host/os/path.h"

namespace berth::cgroup {
namespace {

constexpr os::Millis kFirstLook{5};  // at a scope on its way out; twice as long each time
/// Files that systemd writes its own values to whenever it is told anything about the unit, and that can hold another:
/// quotas that are no whole percents, and what has no property.
constexpr std::array<std::string_view, 2> kRewritten = {"cpu.max", "memory.oom.group"};
constexpr os::Millis kScopePatience{2'000};  // for a scope of the same name to go

/// The host's tree, with systemd told first.
class SystemdTree final : public Tree {
 public:
  SystemdTree(std::unique_ptr<Systemd> systemd, std::string mount, std::string root,
              std::function<void(os::Millis)> wait)
      : asker_(std::move(systemd)), mount_(std::move(mount)), root_(std::move(root)), wait_(std::move(wait)) {}

  /// `root_fs` is in `tree`'s hands.
  void Use(RehearsalFs& root_fs, std::unique_ptr<Tree> tree) {
    fs_ = &root_fs;
    tree_ = std::move(tree);
  }

  const Layout& layout() const override { return tree_->layout(); }
  Result<void> Create(std::string_view path) override;
  Result<int> Write(std::string_view path, const CgroupValues& values) override;
  Result<void> MoveMemory(std::string_view path, const CgroupValues& values) override;
  Result<CgroupValues> Read(std::string_view path) override { return tree_->Read(path); }
  Result<CpuSet> ReadCpus(std::string_view path) override {
    BERTH_RETURN_IF_ERROR(CheckSettled(path));
    auto cpus = tree_->ReadCpus(path);
    return cpus || !HandDown(path, cpus.error()) ? std::move(cpus) : tree_->ReadCpus(path);
  }
  Result<Cpuset> ReadCpuset(std::string_view path) override {
    BERTH_RETURN_IF_ERROR(CheckSettled(path));
    auto sets = tree_->ReadCpuset(path);
    return sets || !HandDown(path, sets.error()) ? std::move(sets) : tree_->ReadCpuset(path);
  }
  Result<std::optional<PartitionState>> ReadPartition(std::string_view path) override {
    return tree_->ReadPartition(path);
  }
  Result<void> MigrateMemory(std::string_view path) override { return tree_->MigrateMemory(path); }
  // systemd knows nothing of partitions, and leaves their files alone.
  Result<void> WriteExclusive(std::string_view path, const CpuSet& cpus) override {
    return tree_->WriteExclusive(path, cpus);
  }
  Result<void> WritePartition(std::string_view path, std::string_view kind) override {
    return tree_->WritePartition(path, kind);
  }
  Result<std::optional<Bytes>> WorkingSet(std::string_view path) override { return tree_->WorkingSet(path); }
  Result<std::optional<Bytes>> ActiveFile(std::string_view path) override { return tree_->ActiveFile(path); }
  Result<std::optional<HostFigures>> Figures() override { return tree_->Figures(); }
  Result<std::optional<Bytes>> MemoryUsage(std::string_view path) override { return tree_->MemoryUsage(path); }
  Result<std::optional<std::int64_t>> PidCapacity() override { return tree_->PidCapacity(); }
  Result<std::optional<CpuSet>> OnlineCpus() override { return tree_->OnlineCpus(); }
  Result<std::vector<int>> Pids(std::string_view path) override { return tree_->Pids(path); }
  Result<bool> HasProcesses(std::string_view path) override { return tree_->HasProcesses(path); }
  using Tree::Kill;
  Result<void> Kill(std::string_view path, os::Millis patience) override;
  Result<void> Remove(std::string_view path, os::Millis patience) override;
  void RemoveRoot() override;
  void LetGo(std::string_view path) override {
    places_.erase(Full(path));
    entering_.erase(Full(path));
  }
  void Rest() override { asker_.Rest(); }
  void WaitBehind(event_loop::Executor& executor, std::function<void()> answered) override {
    tree_->WaitBehind(executor, answered);
    asker_.Use(executor, std::move(answered));
  }
  bool asking() override { return asker_.in_use() && (asker_.asking() || !entering_.empty() || tree_->asking()); }
  void WaitHere() override {
    tree_->WaitHere();
    asker_.Leave();
  }
  Result<std::vector<std::string>> Children(std::string_view path) override { return tree_->Children(path); }
  Result<std::vector<std::string>> CpusetChildren(std::string_view path) override {
    return tree_->CpusetChildren(path);
  }
  CgroupDirs Dirs(std::string_view path) const override { return tree_->Dirs(path); }
  std::uint64_t writes() const override { return fs_->writes() + asker_.done(); }

 private:
  std::string Full(std::string_view path) const {
    return path.empty() || root_.empty() ? root_ + std::string(path) : root_ + "/" + std::string(path);
  }
  Result<bool> Exists(std::string_view full) { return fs_->Exists(mount_ + "/" + std::string(full)); }
  bool HandDown(std::string_view path, const Error& error);
  /// CPUs that systemd is just changing are nothing to rely on.
  Result<void> CheckSettled(std::string_view path) const;
  Result<void> MakeSlice(const std::string& full);
  Result<void> MakeScope(const std::string& full);
  /// A scope that is being made: its process, and how far that got.
  struct Entering {
    os::Placeholder place;
    bool is_there = false;  ///< somebody's, which is to be entered
    os::Millis next = kFirstLook;
    os::Millis waited{0};
  };
  Result<void> Enter(const std::string& full, Entering& entering);
  std::string FirstCpus(const std::string& full);
  Result<void> Tell(std::string_view path, const CgroupValues& values);
  /// What a unit at `path` is told at once.
  struct Telling {
    std::string path;
    std::string unit;
    std::vector<Property> properties;
    std::vector<std::string> files;  ///< whose properties these are
  };
  Result<bool> TellNotes(const std::vector<RehearsalFs::Note>& notes);
  Result<void> TellUnit(const Telling& telling);
  void LetGoBelow(std::string_view path);

  SystemdAsker asker_;
  std::string mount_;
  std::string root_;  ///< as in the host's tree: without leading "/"
  std::function<void(os::Millis)> wait_;
  RehearsalFs* fs_ = nullptr;
  std::unique_ptr<Tree> tree_;
  std::map<std::string, Entering> entering_;       ///< by full path
  std::set<std::string> loaded_;                   ///< slices to be started, not made
  std::map<std::string, os::Placeholder> places_;  ///< by full path of the scope each keeps
  std::map<std::string, NodeSet> moved_;           ///< by full path: memory nodes that systemd was not told yet
  std::map<std::pair<std::string, std::string>, Property> said_;  ///< in the Write that is under way
};

/// systemd takes the cpuset controller back from slices that it was told no CPUs for: such a group looks as if it were
/// gone, though it has its parent's CPUs. true: it was handed down again.
bool SystemdTree::HandDown(std::string_view path, const Error& error) {
  if (error.code != Code::kNotFound) return false;
  const auto there = Exists(Full(path));
  return there && *there && tree_->Create(path).has_value();
}

Result<void> SystemdTree::CheckSettled(std::string_view path) const {
  const auto unit = UnitOf(Full(path));
  if (!unit || !asker_.IsMoving(*unit)) return {};
  return Fail(Code::kBusy, "read the CPUs of unit " + *unit + ": systemd is just changing them");
}

/// One that systemd takes for started though its group is gone is started anew.
Result<void> SystemdTree::MakeSlice(const std::string& full) {
  const std::string unit = *UnitOf(full);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!loaded_.contains(unit)) {
      BERTH_TRY(const bool made, asker_.StartTransient(unit, NewSlice(full)));
      if (!made) loaded_.insert(unit);
    }
    if (loaded_.contains(unit)) {
      const auto started = asker_.Start(unit);
      if (!started && started.error().code == Code::kBusy) return started;
      loaded_.erase(unit);
      BERTH_RETURN_IF_ERROR(started);
    }
    BERTH_TRY(const bool there, Exists(full));
    if (there) return {};
    BERTH_RETURN_IF_ERROR(asker_.Stop(unit));
  }
  return Fail(Code::kIo, "make cgroup " + full + ": systemd started unit " + unit + " without it; 'systemctl status " +
                             unit + "' tells more");
}

/// CPUs for a new scope before it has its values: those this process may use, because Berth's own are never anybody's
/// exclusive ones. "": it inherits no others anyway, or nothing is known.
std::string SystemdTree::FirstCpus(const std::string& full) {
  constexpr std::string_view kKey = "Cpus_allowed_list:";
  const auto status = fs_->Read("/proc/self/status");
  if (!status) return "";
  std::string own;
  for (const std::string_view line : Split(*status, '\n'))
    if (line.starts_with(kKey)) own = Trim(line.substr(kKey.size()));
  const auto ours = CpuSet::Parse(own);
  const std::size_t slash = full.rfind('/');
  const std::string above = slash == std::string::npos ? mount_ : mount_ + "/" + full.substr(0, slash);
  const auto text = fs_->Read(above + "/cpuset.cpus.effective");
  const auto inherited = text ? CpuSet::Parse(Trim(*text)) : std::unexpected(text.error());
  return ours && inherited && inherited->IsSubsetOf(*ours) ? "" : own;
}

/// An empty scope ends at once, so each is made around a process that only waits. A scope of that name that is there is
/// entered; one on its way out (its last process has just ended) refuses that, and is gone a moment later.
Result<void> SystemdTree::MakeScope(const std::string& full) {
  if (places_.contains(full)) {
    BERTH_TRY(const bool there, Exists(full));
    if (there) return {};
    places_.erase(full);
  }
  auto entering = entering_.find(full);
  if (entering == entering_.end()) {
    if (tree_->asking())
      return Fail(Code::kBusy, "make scope " + full + ": systemd would wait for memory that is being migrated");
    BERTH_TRY(os::Placeholder place, os::Placeholder::Start());
    entering = entering_.emplace(full, Entering{.place = std::move(place)}).first;
  }
  auto inside = Enter(full, entering->second);
  if (!inside && inside.error().code == Code::kBusy) return inside;  // goes on when called again
  if (inside) places_.insert_or_assign(full, std::move(entering->second.place));
  entering_.erase(entering);
  return inside;
}

Result<void> SystemdTree::Enter(const std::string& full, Entering& entering) {
  const std::string unit = *UnitOf(full);
  const int pid = entering.place.pid();
  BERTH_TRY(const auto properties, NewScope(full, pid, FirstCpus(full)));
  for (;;) {
    if (!entering.is_there) {
      BERTH_TRY(const bool made, asker_.StartTransient(unit, properties));
      if (made) return {};
      entering.is_there = true;
    }
    const auto inside = asker_.Attach(unit, pid);
    if (inside || inside.error().code == Code::kBusy) return inside;
    const bool refused = !MayBeDone(inside.error().code) && inside.error().code != Code::kUnreachable;
    if (!refused || entering.waited >= kScopePatience)
      return Wrap(inside.error(), "make scope " + unit + ", of which there is one already");
    entering.is_there = false;
    entering.waited += entering.next;
    if (asker_.in_use()) return Fail(Code::kBusy, "make scope " + unit + ": the one of that name is on its way out");
    wait_(std::exchange(entering.next, 2 * entering.next));
  }
}

Result<void> SystemdTree::Create(std::string_view path) {
  const std::string full = Full(path);
  for (const std::string& level : Levels(full)) {
    const auto unit = UnitOf(level);
    if (!unit) {
      return Fail(Code::kInvalid, "make cgroup " + full + ": with the systemd driver each level is a slice or a scope");
    }
    BERTH_TRY(const bool there, Exists(level));
    if (IsScope(*unit)) {
      BERTH_RETURN_IF_ERROR(MakeScope(level));
    } else if (!there) {
      BERTH_RETURN_IF_ERROR(MakeSlice(level));
    } else {
      asker_.DropAnswerOfMaking(*unit);
    }
  }
  return tree_->Create(path);  // controllers that systemd has not handed down
}

/// Tells systemd what it has not been told in this Write; true: something was.
Result<bool> SystemdTree::TellNotes(const std::vector<RehearsalFs::Note>& notes) {
  std::vector<Telling> tellings;  // in order
  for (const RehearsalFs::Note& note : notes) {
    const std::size_t slash = note.path.rfind('/');
    if (!note.path.starts_with(mount_ + "/") || slash <= mount_.size()) continue;
    std::string path = note.path.substr(mount_.size() + 1, slash - mount_.size() - 1);
    const auto unit = UnitOf(path);
    if (!unit) continue;
    const std::string file = note.path.substr(slash + 1);
    BERTH_TRY(const auto properties, PropertiesFor(file, note.text));
    for (const Property& property : properties) {
      auto& said = said_[{*unit, property.name}];
      if (said == property) continue;
      said = property;
      if (tellings.empty() || tellings.back().path != path)
        tellings.push_back({.path = path, .unit = *unit, .properties = {}, .files = {}});
      tellings.back().properties.push_back(property);
      tellings.back().files.push_back(file);
    }
  }
  for (const Telling& telling : tellings) BERTH_RETURN_IF_ERROR(TellUnit(telling));
  return !tellings.empty();
}

Result<void> SystemdTree::TellUnit(const Telling& telling) {
  std::vector<std::string> files;
  for (const std::string_view name : kRewritten)
    if (std::ranges::find(telling.files, name) == telling.files.end())
      files.push_back(mount_ + "/" + telling.path + "/" + std::string(name));
  const auto kept = std::make_shared<std::vector<std::pair<std::string, std::string>>>();
  const auto read = [kept, files = std::move(files), &fs = fs_->real()] {
    for (const std::string& file : files)
      if (auto text = fs.Read(file)) kept->emplace_back(file, *std::move(text));
  };
  const auto restore = [kept, &fs = fs_->real()]() -> Result<void> {
    for (const auto& [file, text] : *kept) {
      const auto now = fs.Read(file);
      if (now && *now != text) BERTH_RETURN_IF_ERROR(fs.Write(file, Trim(text)));
    }
    return {};
  };
  auto set = asker_.Set(telling.unit, telling.properties, {.read = read, .restore = restore});
  // A directory without a unit has nobody who could take its values back.
  if (!set && set.error().code != Code::kNotFound) return set;
  return {};
}

/// Before systemd is told of the nodes: its only thread would wait for the kernel, and nobody would know for how long.
/// Should berthd die meanwhile, systemd may write what it knows one day; that is put right as any foreign write is.
Result<void> SystemdTree::MoveMemory(std::string_view path, const CgroupValues& values) {
  const std::string full = Full(path);
  auto begun = tree_->MoveMemory(path, values);
  if (!begun && begun.error().code == Code::kBusy && values.mems) moved_.insert_or_assign(full, *values.mems);
  BERTH_RETURN_IF_ERROR(begun);
  const auto moved = moved_.find(full);
  if (moved == moved_.end()) return {};
  const auto now = tree_->ReadCpuset(path);
  if (!now || now->mems != moved->second) return {};
  const auto told = TellNotes({{.path = mount_ + "/" + full + "/cpuset.mems", .text = FormatIds(now->mems)}});
  said_.clear();
  if (!told) return std::unexpected(told.error());
  moved_.erase(moved);
  return {};
}

/// Rehearses until systemd knows all that would be written. What fails in a rehearsal fails again in earnest, but for
/// controllers that are not handed down yet: systemd does that only where a unit needs them.
Result<void> SystemdTree::Tell(std::string_view path, const CgroupValues& values) {
  bool handed_down = false;
  for (;;) {
    fs_->Begin();
    const auto rehearsed = tree_->WriteBeforeRun(path, values);
    const std::vector<RehearsalFs::Note> notes = fs_->End();
    BERTH_TRY(const bool told, TellNotes(notes));
    if (told) continue;
    if (rehearsed || rehearsed.error().code != Code::kUnsupported || handed_down) return {};
    BERTH_TRY(const bool there, Exists(Full(path)));
    if (!there) return {};
    handed_down = true;
    BERTH_RETURN_IF_ERROR(tree_->Create(path));
  }
}

Result<int> SystemdTree::Write(std::string_view path, const CgroupValues& values) {
  const std::uint64_t before = writes();
  BERTH_RETURN_IF_ERROR(MoveMemory(path, values));
  auto told = Tell(path, values);
  said_.clear();
  BERTH_RETURN_IF_ERROR(told);
  BERTH_TRY([[maybe_unused]] const int direct, tree_->Write(path, values));
  if (const auto unit = UnitOf(Full(path))) asker_.DropAnswer(*unit);
  return static_cast<int>(writes() - before);
}

void SystemdTree::LetGoBelow(std::string_view path) {
  const std::string full = Full(path);
  const auto below = [&](const auto& place) { return full.empty() || os::IsAtOrBelow(place.first, full); };
  std::erase_if(places_, below);
  std::erase_if(entering_, below);
  std::erase_if(moved_, below);
}

Result<void> SystemdTree::Kill(std::string_view path, os::Millis patience) {
  LetGoBelow(path);
  return tree_->Kill(path, patience);
}

/// Stopping a unit stops those in it; with processes in it nothing is stopped.
Result<void> SystemdTree::Remove(std::string_view path, os::Millis patience) {
  const std::string full = Full(path);
  const auto unit = UnitOf(full);
  LetGoBelow(path);
  BERTH_TRY(const std::vector<int> pids, tree_->Pids(path));
  if (pids.empty() && unit && full != root_) {
    BERTH_TRY(const bool there, Exists(full));
    if (!there) asker_.DropAnswer(*unit);
    if (there) {
      BERTH_RETURN_IF_ERROR(asker_.Stop(*unit));
    }
  }
  return tree_->Remove(path, patience);
}

void SystemdTree::RemoveRoot() {
  const auto unit = UnitOf(root_);
  const auto children = tree_->Children("");
  const auto pids = tree_->Pids("");
  if (!unit || !children || !children->empty() || !pids || !pids->empty()) return;
  if (auto stopped = asker_.Stop(*unit); stopped) tree_->RemoveRoot();
}

std::string MountOf(const Layout& layout) { return layout.controllers.empty() ? "" : layout.controllers.front().mount; }

}  // namespace

Result<std::unique_ptr<Tree>> OpenSystemdTree(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root,
                                              TreeDoors doors, std::unique_ptr<Systemd> systemd) {
  if (layout.version != Version::kV2)
    return Fail(Code::kUnsupported,
                "the systemd driver needs cgroup v2; this host has " + std::string(Name(layout.version)));
  BERTH_RETURN_IF_ERROR(CheckWritable(layout));
  std::string relative(root);
  while (relative.starts_with('/')) relative.erase(0, 1);
  const std::string mount = MountOf(layout);
  for (const ControllerMount& c : layout.controllers)
    if (c.root != "/")
      return Fail(Code::kUnsupported,
                  "the systemd driver needs the whole cgroup tree; " + c.mount + " shows only " + c.root);
  auto wait = doors.wait;
  auto out = std::make_unique<SystemdTree>(std::move(systemd), mount, relative, std::move(wait));
  auto fs = std::make_unique<RehearsalFs>(std::move(root_fs));
  RehearsalFs& kept = *fs;
  doors.for_jobs = &kept.real();
  BERTH_TRY(std::unique_ptr<Tree> files, OpenTreeToLook(std::move(fs), std::move(layout), root, std::move(doors)));
  out->Use(kept, std::move(files));
  auto made = relative.empty() ? Result<void>() : out->Create("");
  if (!made) return std::unexpected(std::move(made).error());
  return out;
}

}  // namespace berth::cgroup
