#include "host/cgroup/hierarchy.h"

#include <algorithm>
#include <cerrno>

#include "base/text.h"
#include "host/cgroup/control_files.h"
#include "host/os/host.h"

namespace berth::cgroup {

Result<std::optional<std::string>> ControlFiles::Read(const std::string& file) {
  auto text = fs_.Read(file);
  if (text) return std::optional(*std::move(text));
  if (text.error().code == Code::kNotFound) return std::optional<std::string>();
  return std::unexpected(std::move(text).error());
}

Result<void> ControlFiles::Write(const std::string& file, std::string_view value) {
  auto done = fs_.Write(file, value);
  if (!done) return Wrap(std::move(done).error(), "set " + Printable(value, 60));
  ++writes_;
  return {};
}

std::unexpected<Error> ControlFiles::Missing(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string dir = file.substr(0, slash);
  const std::string name = file.substr(slash + 1);
  const auto exists = fs_.Exists(dir);
  if (!exists) return std::unexpected(exists.error());
  if (!*exists) return FailErrno("look up cgroup", dir, ENOENT);
  return Fail(Code::kUnsupported, "controller '" + name.substr(0, name.find('.')) + "' is not enabled in " + dir +
                                      " (there is no " + name + ")");
}

const std::vector<Bytes>& ControlFiles::HugePageSizes() {
  if (!huge_page_sizes_) {
    huge_page_sizes_.emplace();
    if (const auto names = fs_.List("/sys/kernel/mm/hugepages"))
      for (const std::string& name : *names)
        if (const auto size = ParseHugePageDir(name)) huge_page_sizes_->push_back(*size);
    std::sort(huge_page_sizes_->begin(), huge_page_sizes_->end());
  }
  return *huge_page_sizes_;
}

bool Hierarchy::Has(std::string_view controller) const {
  return std::find(controllers_.begin(), controllers_.end(), controller) != controllers_.end();
}

std::string Hierarchy::Dir(std::string_view path) const {
  return path.empty() ? mount_ : mount_ + "/" + std::string(path);
}

std::int64_t Hierarchy::PageSize() {
  static const std::int64_t size = os::PageSize().v;
  return size;
}

Result<void> Hierarchy::WriteHugePages(const std::string& dir, std::string_view suffix, const CgroupValues& values) {
  if (!Has("hugetlb") || !values.hugetlb) return {};
  for (const Bytes size : files().HugePageSizes()) {
    const auto it = values.hugetlb->find(size);
    const Bytes asked = it == values.hugetlb->end() ? values.hugetlb_others : it->second;
    const Bytes limit{asked.v / size.v * size.v};
    for (const std::string_view kind : {".", ".rsvd."}) {
      const std::string file = dir + "/hugetlb." + HugePageName(size) + std::string(kind) + std::string(suffix);
      BERTH_TRY(const auto now, files().Parsed(file, ParseLimit));
      if (!now && kind == ".") return files().Missing(file);
      if (!now || *now == limit) continue;
      BERTH_RETURN_IF_ERROR(files().Write(file, std::to_string(limit.v)));
    }
  }
  return {};
}

Result<void> Hierarchy::ReadHugePages(const std::string& dir, std::string_view suffix, CgroupValues& out) {
  if (!Has("hugetlb")) return {};
  for (const Bytes size : files().HugePageSizes()) {
    const std::string file = dir + "/hugetlb." + HugePageName(size) + "." + std::string(suffix);
    BERTH_TRY(const auto limit, files().Parsed(file, ParseLimit));
    if (!limit) continue;
    if (!out.hugetlb) out.hugetlb.emplace();
    out.hugetlb->insert_or_assign(size, *limit);
  }
  return {};
}

std::vector<std::string> Levels(std::string_view path) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    out.emplace_back(path.substr(0, slash));
    at = slash + 1;
  }
  return out;
}

}  // namespace berth::cgroup
