#include "simulator/cluster/packed_pod.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace berth::cluster {
namespace {

constexpr std::uint64_t kCpus = 1;
constexpr std::uint64_t kMemory = 2;
constexpr std::uint64_t kMixed = 4;

class Packer {
 public:
  void Number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void Text(std::string_view text) {
    Number(text.size());
    out_ += text;
  }
  template <class Set>
  void Ids(const Set& set) {
    Number(set.WordCount());
    for (std::size_t i = 0; i < set.WordCount(); ++i) Number(set.WordAt(i));
  }
  std::string Take() {
    out_.shrink_to_fit();
    return std::move(out_);
  }

 private:
  std::string out_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}

  std::uint64_t Number() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) break;
    }
    return out;
  }
  std::string_view Text() {
    const std::size_t size = Number();
    const std::string_view out = left_.substr(0, size);
    left_.remove_prefix(out.size());
    return out;
  }
  template <class Set>
  Set Ids() {
    Set out;
    const std::uint64_t words = Number();
    for (std::uint64_t word = 0; word < words; ++word)
      for (std::uint64_t bits = Number(), bit = 0; bits != 0; bits >>= 1, ++bit)
        if ((bits & 1) != 0) out.Insert(typename Set::Id{static_cast<std::uint32_t>(word * 64 + bit)});
    return out;
  }

 private:
  std::string_view left_;
};

void PackPlacement(const Placement& placement, Packer& out) {
  out.Number(static_cast<std::uint64_t>(placement.kind));
  out.Number((placement.cpus ? kCpus : 0) | (placement.memory ? kMemory : 0) | (placement.mixed ? kMixed : 0));
  if (placement.cpus) out.Ids(*placement.cpus);
  if (placement.memory) {
    out.Number(placement.memory->size());
    for (const MemoryBlock& block : *placement.memory) {
      out.Ids(block.nodes);
      out.Text(block.type);
      out.Number(static_cast<std::uint64_t>(block.size.v));
    }
  }
  out.Number(placement.devices.size());
  for (const DeviceAssignment& given : placement.devices) {
    out.Text(given.resource);
    out.Number(given.ids.size());
    for (const std::string& id : given.ids) out.Text(id);
  }
}

std::vector<MemoryBlock> UnpackBlocks(Unpacker& in) {
  std::vector<MemoryBlock> out(in.Number());
  for (MemoryBlock& block : out) {
    block.nodes = in.Ids<NodeSet>();
    block.type = in.Text();
    block.size = Bytes{static_cast<std::int64_t>(in.Number())};
  }
  return out;
}

Placement UnpackPlacement(Unpacker& in) {
  Placement out;
  out.kind = static_cast<ContainerKind>(in.Number());
  const std::uint64_t has = in.Number();
  if ((has & kCpus) != 0) out.cpus = in.Ids<CpuSet>();
  out.mixed = (has & kMixed) != 0;
  if ((has & kMemory) != 0) out.memory = UnpackBlocks(in);
  out.devices.resize(in.Number());
  for (DeviceAssignment& given : out.devices) {
    given.resource = in.Text();
    given.ids.resize(in.Number());
    for (std::string& id : given.ids) id = in.Text();
  }
  return out;
}

}  // namespace

std::string Pack(const PodRecord& record) {
  Packer out;
  out.Text(record.uid);
  out.Text(record.rule);
  out.Number(record.requests.size());
  for (const auto& [resource, amount] : record.requests) {
    out.Text(resource);
    out.Text(amount.ToString());
  }
  out.Number(record.placements.size());
  for (const Placement& placement : record.placements) PackPlacement(placement, out);
  return out.Take();
}

std::string_view UidOf(std::string_view packed) { return Unpacker(packed).Text(); }

PodRecord Unpack(std::string_view packed) {
  Unpacker in(packed);
  PodRecord out;
  out.uid = in.Text();
  out.rule = in.Text();
  for (std::uint64_t left = in.Number(); left > 0; --left) {
    std::string resource(in.Text());
    if (auto amount = Quantity::Parse(in.Text())) out.requests.emplace(std::move(resource), *amount);
  }
  out.placements.resize(in.Number());
  std::size_t number = 0;
  for (Placement& placement : out.placements) {
    placement = UnpackPlacement(in);
    placement.container = std::to_string(number++);
  }
  return out;
}

}  // namespace berth::cluster
