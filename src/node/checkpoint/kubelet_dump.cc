#include "node/checkpoint/kubelet_dump.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>

#include "base/id_set.h"
#include "base/text.h"

namespace berth::checkpoint {
namespace {

using codec::Json;

std::string Number(const Json& value) {
  if (value.is_number_unsigned()) return std::to_string(value.get<std::uint64_t>());
  return std::to_string(value.get<std::int64_t>());
}

std::string NumberMember(const Json& object, std::string_view name) {
  const Json* value = Member(object, name);
  return value == nullptr || value->is_null() ? "0" : Number(*value);
}

std::string StringMember(const Json& object, std::string_view name) {
  const Json* value = Member(object, name);
  return value == nullptr || value->is_null() ? "" : value->get<std::string>();
}

std::string IntList(const Json* list) {
  if (list == nullptr || list->is_null()) return "([]int)<nil>";
  std::string out = "([]int)[";
  for (const Json& item : *list) out += (out.back() == '[' ? "" : " ") + Number(item);
  return out + "]";
}

/// "map[k:v k:v]" in the order of `Key`; `print` gives a value's text. `absent` stands for a missing member.
template <class Key, class ParseKey, class Print>
std::string Map(const Json* object, std::string_view absent, ParseKey parse_key, Print print) {
  if (object == nullptr) return std::string(absent);
  if (object->is_null()) return "<nil>";
  std::map<Key, const Json*> sorted;
  for (const auto& [key, value] : object->items()) sorted[parse_key(key)] = &value;
  std::string out = "map[";
  for (const auto& [key, value] : sorted) {
    if (out.back() != '[') out += ' ';
    if constexpr (std::is_same_v<Key, std::string>) {
      out += key + ":" + print(*value);
    } else {
      out += std::to_string(key) + ":" + print(*value);
    }
  }
  return out + "]";
}

template <class Print>
std::string StringMap(const Json* object, Print print) {
  return Map<std::string>(object, "map[]", [](const std::string& key) { return key; }, print);
}

std::string PlainString(const Json& value) { return value.is_null() ? "" : value.get<std::string>(); }

std::string CpuSetDump(const std::string& list) {
  std::string out = "(cpuset.CPUSet){elems:(map[int]struct {})map[";
  if (const auto cpus = CpuSet::Parse(list)) {
    for (CpuId cpu : *cpus) out += (out.back() == '[' ? "" : " ") + std::to_string(Raw(cpu)) + ":{}";
  }
  return out + "]}";
}

std::string MemoryTableDump(const Json& table) {
  return "<*>{TotalMemSize:(uint64)" + NumberMember(table, "total") + " SystemReserved:(uint64)" +
         NumberMember(table, "systemReserved") + " Allocatable:(uint64)" + NumberMember(table, "allocatable") +
         " Reserved:(uint64)" + NumberMember(table, "reserved") + " Free:(uint64)" + NumberMember(table, "free") + "}";
}

std::string NodeDump(const Json& node) {
  const Json* tables = Member(node, "memoryMap");
  return "<*>{NumberOfAssignments:(int)" + NumberMember(node, "numberOfAssignments") +
         " MemoryMap:(map[v1.ResourceName]*state.MemoryTable)" +
         (tables == nullptr ? "<nil>" : StringMap(tables, MemoryTableDump)) +
         " Cells:" + IntList(Member(node, "cells")) + "}";
}

std::string BlocksDump(const Json& blocks) {
  if (blocks.is_null()) return "<nil>";
  std::string out = "[";
  for (const Json& block : blocks) {
    if (out.back() != '[') out += ' ';
    out += "{NUMAAffinity:" + IntList(Member(block, "numaAffinity")) + " Type:(v1.ResourceName)" +
           StringMember(block, "type") + " Size:(uint64)" + NumberMember(block, "size") + "}";
  }
  return out + "]";
}

std::string PodBlocksDump(const Json& pod) {
  const Json* blocks = Member(pod, "memoryBlocks");
  return "{MemoryBlocks:([]state.Block)" + (blocks == nullptr ? "<nil>" : BlocksDump(*blocks)) + "}";
}

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

std::string EscapeLikeTheKubelet(std::string_view json) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kEscapes{
      {{"<", "\\u003c"}, {">", "\\u003e"}, {"&", "\\u0026"}, {"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"}}};
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const auto escape =
        std::ranges::find_if(kEscapes, [&](const auto& e) { return json.substr(at).starts_with(e.first); });
    if (escape == kEscapes.end()) {
      out += json[at++];
    } else {
      out += escape->second;
      at += escape->first.size();
    }
  }
  return out;
}

const codec::Json* Member(const codec::Json& object, std::string_view name) {
  const codec::Json* found = nullptr;
  for (const auto& [key, value] : object.items())
    if (SameName(key, name)) found = &value;
  return found;
}

std::string Dump(const codec::Json& file, const CpuDump& how) {
  std::string out = "(*state." + std::string(how.type) + "){PolicyName:(string)" + StringMember(file, "policyName") +
                    " DefaultCPUSet:(string)" + StringMember(file, "defaultCpuSet") + " Entries:";
  const Json* entries = Member(file, "entries");
  if (how.entries_by_id) {
    out += "(map[string]string)" + StringMap(entries, PlainString);
  } else {
    out += "(map[string]map[string]string)" +
           StringMap(entries, [](const Json& pod) { return StringMap(&pod, PlainString); });
  }
  if (how.pod_entries) {
    out += " PodEntries:(state.PodCPUAssignments)" + StringMap(Member(file, "podEntries"), [](const Json& pod) {
             return "{CPUSet:" + CpuSetDump(StringMember(pod, "cpuSet")) + "}";
           });
  }
  return out + " Checksum:(checksum.Checksum)0}";
}

std::string Dump(const codec::Json& file, const MemoryDump& how) {
  const auto node_id = [](const std::string& key) { return ParseDecimal<std::int64_t>(key).value_or(-1); };
  std::string out = "(*state." + std::string(how.type) + "){PolicyName:(string)" + StringMember(file, "policyName") +
                    " MachineState:(state.NUMANodeMap)" +
                    Map<std::int64_t>(Member(file, "machineState"), "map[]", node_id, NodeDump) +
                    " Entries:(state.ContainerMemoryAssignments)" +
                    StringMap(Member(file, "entries"), [](const Json& pod) { return StringMap(&pod, BlocksDump); });
  if (how.pod_entries)
    out += " PodEntries:(state.PodMemoryAssignments)" + StringMap(Member(file, "podEntries"), PodBlocksDump);
  return out + " Checksum:(checksum.Checksum)0}";
}

}  // namespace berth::checkpoint
