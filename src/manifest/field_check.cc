#include "manifest/field_check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "manifest/field_table.h"

namespace berth::manifest {
namespace {

/// On a host without SELinux a runtime ignores labels.
const FieldTreatment& TreatmentOf(const FieldRow& row, const PodOptions& options) {
  static constexpr FieldTreatment kIgnored{.verdict = FieldVerdict::kNoEffect,
                                           .why = "SELinux is not enabled on this host"};
  const bool label = row.path.ends_with(".seLinuxOptions");
  return label && options.run_by == RunBy::kCri && !options.se_linux ? kIgnored : row.Under(options.run_by);
}

class FieldWalk {
 public:
  explicit FieldWalk(const PodOptions& options) : options_(options) {}

  struct Found {
    const FieldRow* row = nullptr;
    std::string path;  ///< of the first
    int more = 0;
  };

  /// `name`: the field in general ("spec.containers[].tty"), `path`: this very one.
  void Visit(const Node& node, const Path& path, const std::string& name) {
    if (node.kind == Node::Kind::kNull) return;
    const bool holds_fields = name.empty() || HasRowsBelow(name);
    if (!holds_fields) return Judge(node, path, name);
    if (node.kind == Node::Kind::kList) {
      for (std::size_t i = 0; i < node.items.size(); ++i)
        Visit(node.items[i], Path{.parent = &path, .key = {}, .index = static_cast<int>(i)}, name + "[]");
    } else if (node.kind == Node::Kind::kMap) {
      for (std::size_t i = 0; i < node.items.size(); ++i)
        Visit(node.items[i], Path{.parent = &path, .key = node.keys[i]},
              (name.empty() ? "" : name + ".") + node.keys[i]);
    }
  }

  const std::vector<Found>& found() const { return found_; }

 private:
  /// A field that is there but says nothing.
  static bool IsEmpty(const Node& node, const FieldRow& row) {
    if (node.kind == Node::Kind::kMap) return node.items.empty() && !row.path.starts_with("spec.volumes[].");
    if (node.kind == Node::Kind::kList) return node.items.empty();
    return node.kind == Node::Kind::kString && node.text.empty();
  }

  /// An object has none that could be among a row's fine ones.
  static std::string_view ValueOf(const Node& node) {
    if (node.kind == Node::Kind::kMap) return "";
    return node.text;
  }

  void Judge(const Node& node, const Path& path, const std::string& name) {
    const FieldRow* row = RowOf(name);
    if (row == nullptr || IsEmpty(node, *row) || IsFine(*row, ValueOf(node))) return;
    const FieldVerdict verdict = TreatmentOf(*row, options_).verdict;
    if (verdict != FieldVerdict::kNoEffect && verdict != FieldVerdict::kRefused) return;
    const auto [it, added] = places_.try_emplace(row, found_.size());
    if (added)
      found_.push_back({.row = row, .path = path.ToString(), .more = 0});
    else
      ++found_[it->second].more;
  }

  const PodOptions& options_;
  std::vector<Found> found_;
  std::map<const FieldRow*, std::size_t> places_;
};

std::string CureByDevices(const std::vector<std::string>& resources) {
  constexpr std::size_t kMostResources = 10;
  std::string named;
  for (std::size_t i = 0; i < std::min(resources.size(), kMostResources); ++i)
    named += (i == 0 ? "" : ", ") + Printable(resources[i], 320);
  if (resources.size() > kMostResources) named += " and " + std::to_string(resources.size() - kMostResources) + " more";
  return "ask for a resource of this node's devices instead (" + named +
         "), or for one that localDevices of Berth's settings makes of the same devices: resources.limits: {" +
         Printable(resources.front(), 320) + ": 1}";
}

std::string CureOf(const FieldRow& row, const PodOptions& options) {
  const RunBy run_by = options.run_by;
  const FieldTreatment& treatment = row.Under(run_by);
  if (treatment.of_devices && !options.device_resources.empty()) return CureByDevices(options.device_resources);
  if (!treatment.cure.empty()) return std::string(treatment.cure);
  const FieldVerdict elsewhere = row.cri.verdict;
  if (run_by == RunBy::kProcess && elsewhere == FieldVerdict::kCarriedOut)
    return "leave it out, or run the pod on a node with a container runtime (runtime: cri)";
  return "leave it out";
}

}  // namespace

void CheckFields(const Node& pod, const Path& path, const PodOptions& options, Report& report) {
  if (options.run_by == RunBy::kNobody) return;
  FieldWalk walk(options);
  walk.Visit(pod, path, "");
  for (const FieldWalk::Found& found : walk.found()) {
    const FieldTreatment& treatment = TreatmentOf(*found.row, options);
    const std::string where = found.path + (found.more == 0 ? "" : " (and " + std::to_string(found.more) + " more)");
    if (treatment.verdict == FieldVerdict::kNoEffect) {
      report.WarnAt(where, "no effect: " + std::string(treatment.why));
    } else if (options.refuse_unsupported) {
      const std::string_view next = treatment.why.contains("; ") ? ", or " : "; ";  // it names a cure already
      report.ProblemAt(where,
                       "Forbidden: " + std::string(treatment.why) + std::string(next) + CureOf(*found.row, options));
    } else {
      report.WarnAt(where, "not carried out: " + std::string(treatment.why));
    }
  }
}

}  // namespace berth::manifest
