// The text of cgroup control files as typed values, and back. Pure; text from the kernel is treated as foreign.
#ifndef BERTH_HOST_CGROUP_CONTROL_FILES_H_
#define BERTH_HOST_CGROUP_CONTROL_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/cgroup_values.h"

namespace berth::cgroup {

// All parsers accept one trailing newline. Errors: kInvalid, naming the text.

/// cpu.max: "max 100000" or "20000 100000" (quota and period in µs).
Result<CpuMax> ParseCpuMax(std::string_view text);
std::string FormatCpuMax(const CpuMax& value);

/// An amount of bytes; "max", "-1" and v1's "unlimited" (the largest multiple of the page size) are -1.
Result<Bytes> ParseLimit(std::string_view text);
/// "max" on v2 and "-1" on v1 for -1.
std::string FormatLimit(Bytes limit, bool v2);

/// pids.max: a number, or -1 for "max".
Result<std::int64_t> ParsePidsMax(std::string_view text);
/// "max" below 0; 0 becomes 1, as in the runtimes.
std::string FormatPidsMax(std::int64_t value);

/// One number, e.g. cpu.shares.
Result<std::int64_t> ParseNumber(std::string_view text);

/// cgroup.procs, sorted, without doubles and without the 0 the kernel shows for processes of other pid namespaces.
Result<std::vector<int>> ParsePids(std::string_view text);

/// "2MB", "1GB", "64KB": the kernel's name of a page size in hugetlb file names.
std::string HugePageName(Bytes size);
/// Inverse for /sys/kernel/mm/hugepages: "hugepages-2048kB". Errors: kInvalid.
Result<Bytes> ParseHugePageDir(std::string_view name);

/// The number after `name` in lines "name number ..."; nullopt: no such line.
std::optional<std::int64_t> ParseField(std::string_view text, std::string_view name);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_CONTROL_FILES_H_
